//! One word per state: total matches over the kernel's types, so that a new state cannot be left without a word.

use kernel::alarm::{AlarmKind, Subject};
use kernel::lift::{DoorState, LiftAction, LiftMode};
use kernel::task::{SuspendCause, TaskState};
use kernel::wire::gateway::{Connection, GatewayRefusal, Verdict};
use kernel::wire::ledger::SessionPhase;
use kernel::wire::vehicle::WorkState;
use kernel::wire::view::{Activity, Knowledge, NodeStanding};

use super::Locale;

impl Locale {
    pub(super) fn pick(self, zh: &'static str, en: &'static str) -> &'static str {
        match self {
            Self::ZhCn => zh,
            Self::En => en,
        }
    }

    pub(crate) fn task_state(self, state: &TaskState) -> &'static str {
        match state {
            TaskState::Created => self.pick("已创建", "created"),
            TaskState::Issued { .. } => self.pick("已下发", "issued"),
            TaskState::Acknowledged { .. } => self.pick("已确认", "acknowledged"),
            TaskState::Executing { .. } => self.pick("执行中", "executing"),
            TaskState::Suspended { .. } => self.pick("已挂起", "suspended"),
            TaskState::Completed => self.pick("已完成", "completed"),
            TaskState::Failed { .. } => self.pick("已失败", "failed"),
            TaskState::Withdrawn { .. } => self.pick("已撤回", "withdrawn"),
        }
    }

    pub(crate) fn suspend_cause(self, cause: &SuspendCause) -> String {
        match cause {
            SuspendCause::Link => self.pick("链路中断,计时冻结", "link silent, timers frozen").to_owned(),
            SuspendCause::Lift { lift } => format!("{} {lift}", self.pick("等候电梯", "waits for lift")),
            SuspendCause::Person => self.pick("等候人工介入", "a person has to decide").to_owned(),
            SuspendCause::Fault => self.pick("小车或电梯故障", "vehicle or lift reports a fault").to_owned(),
        }
    }

    pub(crate) fn knowledge(self, knowledge: Knowledge) -> &'static str {
        match knowledge {
            Knowledge::Confirmed => self.pick("已证实", "confirmed"),
            Knowledge::Assumed => self.pick("推定", "assumed"),
            Knowledge::Unknown => self.pick("未知", "unknown"),
            Knowledge::Contradicted => self.pick("记录矛盾", "contradicted"),
        }
    }

    pub(crate) fn activity(self, activity: &Activity) -> String {
        match activity {
            Activity::WaitsForVehicle => self.pick("等候派车", "waits for a vehicle").to_owned(),
            Activity::DrivesToPick => self.pick("驶往取货", "drives to pick").to_owned(),
            Activity::Picks => self.pick("正在取货", "picks").to_owned(),
            Activity::DrivesToDrop => self.pick("驶往卸货", "drives to drop").to_owned(),
            Activity::Drops => self.pick("正在卸货", "drops").to_owned(),
            Activity::WaitsForLift { lift } => format!("{} {lift}", self.pick("等候电梯", "waits for")),
            Activity::Boards { lift } => format!("{} {lift}", self.pick("正在进入", "boards")),
            Activity::Rides { lift, to } => match self {
                Self::ZhCn => format!("乘 {lift} 往 {to} 层"),
                Self::En => format!("rides {lift} to floor {to}"),
            },
            Activity::Alights { lift } => format!("{} {lift}", self.pick("正在驶出", "leaves")),
            Activity::Ended => self.pick("已结束", "ended").to_owned(),
        }
    }

    pub(crate) fn work(self, work: WorkState) -> &'static str {
        match work {
            WorkState::Idle => self.pick("空闲", "idle"),
            WorkState::Driving => self.pick("行驶", "drives"),
            WorkState::Handling => self.pick("取卸货", "handles a load"),
            WorkState::Waiting => self.pick("等待", "waits"),
            WorkState::Faulted => self.pick("故障", "fault"),
        }
    }

    pub(crate) fn door(self, door: DoorState) -> &'static str {
        match door {
            DoorState::Closed => self.pick("门已关", "door closed"),
            DoorState::Opening => self.pick("开门中", "door opening"),
            DoorState::Open => self.pick("门已开", "door open"),
            DoorState::Closing => self.pick("关门中", "door closing"),
            DoorState::Obstructed => self.pick("门受阻", "door obstructed"),
        }
    }

    pub(crate) fn lift_mode(self, mode: LiftMode) -> &'static str {
        match mode {
            LiftMode::Vehicle => self.pick("小车模式", "vehicles"),
            LiftMode::Human => self.pick("人员模式", "people"),
            LiftMode::Fire => self.pick("消防", "fire service"),
            LiftMode::Maintenance => self.pick("检修", "maintenance"),
            LiftMode::Emergency => self.pick("急停", "emergency stop"),
        }
    }

    pub(crate) fn node_standing(self, standing: NodeStanding) -> &'static str {
        match standing {
            NodeStanding::Running => self.pick("运行中", "running"),
            NodeStanding::Silent => self.pick("失联", "silent"),
            NodeStanding::Stopped => self.pick("已停止", "stopped"),
            NodeStanding::Lost => self.pick("已失效", "lost"),
        }
    }

    /// What follows from a standing; empty when nothing does.
    pub(crate) fn node_standing_meaning(self, standing: NodeStanding) -> &'static str {
        match standing {
            NodeStanding::Running => "",
            NodeStanding::Silent => {
                self.pick("若持续失联,其任务将由其他节点接管", "if it stays so, others take over its tasks")
            }
            NodeStanding::Stopped => {
                self.pick("正常退出,任务已交出", "ended in good order, tasks handed over")
            }
            NodeStanding::Lost => {
                self.pick("判定为失效,其任务由其他节点接管", "taken for dead, others take over its tasks")
            }
        }
    }

    /// Of a node that runs and is cut off from the broker.
    pub(crate) fn hears_no_broker(self) -> &'static str {
        self.pick("与消息代理断开", "does not hear the broker")
    }

    /// What follows from that.
    pub(crate) fn hears_no_broker_meaning(self) -> &'static str {
        self.pick("其任务由能连上的节点接管", "nodes that hear it take over its tasks")
    }

    pub(crate) fn connection(self, connection: Connection) -> &'static str {
        match connection {
            Connection::Unknown => self.pick("尚未读到", "not read yet"),
            Connection::Up => self.pick("已连接", "connected"),
            Connection::Down => self.pick("不可达", "unreachable"),
            Connection::Frozen => self.pick("寄存器停滞", "registers stand still"),
        }
    }

    pub(crate) fn phase_of_session(self, phase: SessionPhase) -> &'static str {
        match phase {
            SessionPhase::Requested => self.pick("已申请", "requested"),
            SessionPhase::Queued => self.pick("排队中", "queued"),
            SessionPhase::Granted => self.pick("已授予", "granted"),
            SessionPhase::Boarding => self.pick("进入中", "boarding"),
            SessionPhase::Riding => self.pick("乘梯中", "riding"),
            SessionPhase::Alighting => self.pick("驶出中", "alighting"),
            SessionPhase::Released => self.pick("已释放", "released"),
            SessionPhase::Forced => self.pick("人工结束", "ended by a person"),
        }
    }

    pub(crate) fn lift_action(self, action: LiftAction) -> &'static str {
        match action {
            LiftAction::GoTo => self.pick("开往", "go to"),
            LiftAction::OpenDoor => self.pick("开门", "open door"),
            LiftAction::CloseDoor => self.pick("关门", "close door"),
        }
    }

    pub(crate) fn verdict(self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Accepted => self.pick("已接受", "accepted").to_owned(),
            Verdict::Forwarded => self.pick("已转发", "passed on").to_owned(),
            Verdict::Refused { reason } => {
                format!("{}{}", self.pick("拒绝:", "refused: "), self.gateway_refusal(reason))
            }
            Verdict::Expired => self.pick("过期未发", "expired, not sent").to_owned(),
            Verdict::Unknown => self.pick("未知,待校验", "unknown, verifying").to_owned(),
            Verdict::Ran => self.pick("已查实:执行了", "settled: it ran").to_owned(),
            Verdict::NotSent => self.pick("已查实:未执行", "settled: not run").to_owned(),
        }
    }

    fn gateway_refusal(self, reason: &GatewayRefusal) -> &'static str {
        match reason {
            GatewayRefusal::StaleToken => self.pick("令牌已旧", "old token"),
            GatewayRefusal::WrongArbitration => self.pick("仲裁方式已变", "other arbitration"),
            GatewayRefusal::StaleSession => self.pick("乘梯已旧", "old ride"),
            GatewayRefusal::CarOccupied => self.pick("轿厢内可能有车", "car may be occupied"),
            GatewayRefusal::StaleClaim => self.pick("任务归属已旧", "old claim"),
            GatewayRefusal::UnknownTarget => self.pick("目标不存在", "unknown target"),
            GatewayRefusal::StaleRead => self.pick("依据的读数太旧", "read too old"),
            GatewayRefusal::ExpectationMissed { .. } => self.pick("现状与预期不符", "state has changed"),
            GatewayRefusal::Verifying => self.pick("电梯待校验", "lift is verifying"),
            GatewayRefusal::Unreachable => self.pick("PLC 不可达", "PLC unreachable"),
            GatewayRefusal::OutOfService => self.pick("电梯停用", "out of service"),
            GatewayRefusal::NotNow => self.pick("此刻不允许", "not allowed now"),
            GatewayRefusal::QueueFull => self.pick("队列已满", "queue full"),
        }
    }

    pub(crate) fn alarm(self, kind: AlarmKind) -> &'static str {
        match kind {
            AlarmKind::LiftUnverified => self.pick("电梯待校验", "Lift verifying"),
            AlarmKind::LiftUnreachable => self.pick("电梯 PLC 不可达", "Lift PLC unreachable"),
            AlarmKind::LiftFrozen => self.pick("电梯 PLC 停滞", "Lift PLC frozen"),
            AlarmKind::LiftFaulted => self.pick("电梯故障", "Lift fault"),
            AlarmKind::LiftOutOfService => self.pick("电梯停用", "Lift out of service"),
            AlarmKind::LiftEmergencyStopped => self.pick("电梯急停", "Lift emergency stop"),
            AlarmKind::LiftForeignCommand => {
                self.pick("电梯被外来指令驱动", "Lift moved by a foreign command")
            }
            AlarmKind::LiftOnEdge => self.pick("电梯由网关边缘仲裁", "Lift under edge arbitration"),
            AlarmKind::LiftNeedsMaintenance => self.pick("电梯需检修", "Lift needs maintenance"),
            AlarmKind::LiftHeldTooLong => self.pick("电梯占用超时", "Lift held too long"),
            AlarmKind::HandoverDisagrees => {
                self.pick("进出轿厢两路不一致", "In or out of the car: channels differ")
            }
            AlarmKind::VehicleSilent => self.pick("小车失联", "Vehicle silent"),
            AlarmKind::AcknowledgementMissing => self.pick("小车未应答", "Acknowledgement missing"),
            AlarmKind::ExecutionFailed => self.pick("小车执行失败", "Vehicle could not do it"),
            AlarmKind::CommandRefused => self.pick("小车拒绝指令", "Vehicle refused a command"),
            AlarmKind::RecordsDisagree => self.pick("任务记录矛盾", "Records of a task disagree"),
            AlarmKind::GatewaySilent => self.pick("网关失联", "Gateway silent"),
            AlarmKind::MessagesRejected => self.pick("收到无法识别的报文", "Messages not understood"),
        }
    }
}

/// The name of what an alarm is about; the whole site needs none.
pub(crate) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Site => String::new(),
        Subject::Lift(id) => id.to_string(),
        Subject::Vehicle(id) => id.to_string(),
        Subject::Task(id) => id.to_string(),
        Subject::Gateway(id) => id.to_string(),
    }
}
