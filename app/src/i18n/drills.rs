//! Words of drills: what is injected, where, and what will be seen of it.

use kernel::drill::{DrillEnd, DrillFault, DrillGroup, DrillPlace, DrillRoad};

use super::Locale;

impl Locale {
    pub(crate) fn drill_group(self, group: DrillGroup) -> &'static str {
        match group {
            DrillGroup::Lift => self.pick("电梯", "Lift"),
            DrillGroup::Radio => self.pick("无线", "Radio"),
            DrillGroup::Vehicle => self.pick("小车", "Vehicle"),
            DrillGroup::PlcLink => self.pick("PLC 链路", "PLC link"),
            DrillGroup::Roads => self.pick("消息通道", "Message roads"),
            DrillGroup::Programs => self.pick("控制节点与网关", "Control nodes and gateways"),
            DrillGroup::Services => self.pick("消息代理、台账、租约存储", "Broker, ledger, lease store"),
        }
    }

    pub(crate) fn drill_fault(self, fault: DrillFault) -> &'static str {
        match fault {
            DrillFault::DoorStuck => self.pick("电梯门卡住", "Door stuck"),
            DrillFault::SillBlocked => self.pick("门槛被占", "Sill blocked"),
            DrillFault::PlcFrozen => self.pick("PLC 停滞", "PLC frozen"),
            DrillFault::PlcSlow => self.pick("PLC 变慢", "PLC slow"),
            DrillFault::SensorLate => self.pick("轿厢传感器滞后", "Car sensor late"),
            DrillFault::SensorBlind => self.pick("轿厢传感器失灵", "Car sensor blind"),
            DrillFault::PeopleMode => self.pick("转为人用模式", "Mode: people"),
            DrillFault::MaintenanceMode => self.pick("转为检修模式", "Mode: maintenance"),
            DrillFault::FireMode => self.pick("转为消防模式", "Mode: fire"),
            DrillFault::EmergencyMode => self.pick("急停", "Emergency stop"),
            DrillFault::PlcRebooted => self.pick("PLC 重启", "PLC rebooted"),
            DrillFault::CarCalled => self.pick("有人呼梯", "Car called by people"),
            DrillFault::StrayCall => self.pick("外来程序呼梯", "Called by a stray program"),
            DrillFault::RadioCut => self.pick("无线中断", "Radio cut"),
            DrillFault::RadioThin => self.pick("信号弱", "Radio weak"),
            DrillFault::RadioInterference => self.pick("同频干扰", "Radio interference"),
            DrillFault::RadioSlow => self.pick("无线变慢", "Radio slow"),
            DrillFault::VehicleRestarted => self.pick("小车重启", "Vehicle restarted"),
            DrillFault::VehicleFrozen => self.pick("小车停滞", "Vehicle frozen"),
            DrillFault::VehicleSensorLate => self.pick("小车进出判断滞后", "Vehicle sensor late"),
            DrillFault::AnswerLost => self.pick("PLC 应答丢失", "PLC answer lost"),
            DrillFault::ClosesInWrite => self.pick("写入时断开", "Closes in a write"),
            DrillFault::PlcLinkDown => self.pick("PLC 链路中断", "PLC link down"),
            DrillFault::MessagesDropped => self.pick("消息丢失", "Messages lost"),
            DrillFault::MessagesDoubled => self.pick("消息重复", "Messages doubled"),
            DrillFault::MessagesDelayed => self.pick("消息延迟", "Messages late"),
            DrillFault::NodePaused => self.pick("控制节点停顿", "Control node paused"),
            DrillFault::NodeStopped => self.pick("控制节点正常停机", "Control node stopped"),
            DrillFault::NodeKilled => self.pick("控制节点被杀", "Control node killed"),
            DrillFault::NodeCutOff => self.pick("消息代理对一节点不可达", "Broker out of a node's reach"),
            DrillFault::LedgerCutOff => self.pick("台账对一节点不可达", "Ledger out of a node's reach"),
            DrillFault::GatewayPaused => self.pick("网关停顿", "Gateway paused"),
            DrillFault::GatewayKilled => self.pick("网关被杀", "Gateway killed"),
            DrillFault::GatewayCutOff => self.pick("消息代理对网关不可达", "Broker out of a gateway's reach"),
            DrillFault::ClockAhead => self.pick("时钟快一分钟", "Clock a minute ahead"),
            DrillFault::ClockBehind => self.pick("时钟慢一分钟", "Clock a minute behind"),
            DrillFault::BrokerPaused => self.pick("消息代理停顿", "Broker paused"),
            DrillFault::BrokerAway => self.pick("消息代理离线", "Broker away"),
            DrillFault::BrokerForgets => self.pick("消息代理失忆", "Broker forgets"),
            DrillFault::LedgerAway => self.pick("台账离线", "Ledger away"),
            DrillFault::LeasesStopped => self.pick("租约存储停止", "Lease store stopped"),
            DrillFault::LeasesPartitioned => {
                self.pick("租约存储对一节点不可达", "Lease store out of a node's reach")
            }
            DrillFault::LeasesEmptied => self.pick("租约存储清空", "Lease store emptied"),
            DrillFault::LeasesOldCopy => self.pick("租约存储退回旧副本", "Lease store: old copy"),
            DrillFault::LeasesClockAhead => self.pick("租约存储时钟快一分钟", "Lease store's clock ahead"),
            DrillFault::LeasesClockBehind => self.pick("租约存储时钟慢一分钟", "Lease store's clock behind"),
        }
    }

    /// What will happen, in a plain sentence.
    pub(crate) fn drill_effect(self, fault: DrillFault) -> &'static str {
        match fault {
            DrillFault::DoorStuck => self.pick("门不动。乘梯停在原处等候。", "The door does not move. Rides wait where they are."),
            DrillFault::SillBlocked => {
                self.pick("门槛上有异物,门每次关闭都会重新打开。", "Something stands on the sill: each time the door closes, it reopens.")
            }
            DrillFault::PlcFrozen => {
                self.pick("PLC 停止扫描,寄存器不再变化。", "The PLC does not scan, and its registers stand still.")
            }
            DrillFault::PlcSlow => self.pick("PLC 每次扫描用时为平时的 5 倍。", "Each scan of the PLC takes five times as long."),
            DrillFault::SensorLate => self.pick("轿厢占用信号滞后 3 秒。", "The car's load shows three seconds late."),
            DrillFault::SensorBlind => {
                self.pick("轿厢占用信号始终显示空,无论车内有谁。", "The car's sensor shows an empty car, whoever is in it.")
            }
            DrillFault::PeopleMode => {
                self.pick("钥匙开关把电梯交给人,小车不能使用。", "The key switch gives the lift to people; no vehicle may use it.")
            }
            DrillFault::MaintenanceMode => self.pick("电梯检修,轿厢停住。", "Somebody works on the lift; it stands."),
            DrillFault::FireMode => self.pick("消防召回:轿厢降到最低层并开门。", "Fire recall: the car goes to the lowest stop and opens."),
            DrillFault::EmergencyMode => self.pick("急停按钮按下,轿厢停住。", "An emergency button is pressed; the car stands still."),
            DrillFault::PlcRebooted => {
                self.pick("PLC 立即重启,手中的指令丢失。", "The PLC starts again at once and loses what it had in hand.")
            }
            DrillFault::CarCalled => self.pick("有人立即把轿厢呼到最远的一层。", "Somebody calls the car to the farthest stop."),
            DrillFault::RadioCut => self.pick("此处无线完全中断,小车失联。", "Nothing passes the radio there; vehicles go silent."),
            DrillFault::StrayCall => self.pick(
                "台账之外的程序立即按边缘仲裁的格式呼梯到最远的一层;网关不自行仲裁时予以拒绝。",
                "A program that the ledger does not know calls the car to the farthest stop, as nodes do by edge arbitration; a gateway that does not arbitrate refuses.",
            ),
            DrillFault::RadioSlow => self.pick("每帧晚到 1.5 秒。", "Each frame comes a second and a half late."),
            DrillFault::RadioThin => self.pick("信号弱,十帧丢三帧。", "The signal is weak, and three of ten frames are lost."),
            DrillFault::RadioInterference => {
                self.pick("信号强,但十帧仍丢三帧。", "The signal is strong, and three of ten frames are lost all the same.")
            }
            DrillFault::VehicleRestarted => {
                self.pick("小车控制器立即重启,手中的动作中断。", "The vehicle's controller starts again at once and drops its work in hand.")
            }
            DrillFault::VehicleFrozen => self.pick(
                "小车控制器停住,小车原地不动、没有心跳;之后一次收到所有积压。最长 29 秒。",
                "The vehicle's controller stands still, and the vehicle with it: no heartbeat. Then it takes everything at once. 29 s at most.",
            ),
            DrillFault::VehicleSensorLate => self.pick(
                "小车自身的传感器滞后 3 秒才显示已进入或已离开轿厢。",
                "The vehicle's own sensor shows three seconds late that it is in the car, or out of it.",
            ),
            DrillFault::AnswerLost => {
                self.pick("PLC 执行写入,但应答丢失。", "The PLC does what is written, and its answer is lost.")
            }
            DrillFault::ClosesInWrite => {
                self.pick("PLC 收下写入后断开,不应答。", "The PLC takes a write and closes the connection without an answer.")
            }
            DrillFault::PlcLinkDown => self.pick("网关连不上 PLC。", "The gateway cannot reach the PLC."),
            DrillFault::MessagesDropped => self.pick("该通道的消息丢失一半。", "Half of this road's messages are lost."),
            DrillFault::MessagesDoubled => {
                self.pick("该通道一半的消息 1 秒后重复到达。", "Half of this road's messages come again after a second.")
            }
            DrillFault::MessagesDelayed => {
                self.pick("该通道一半的消息晚到 3 秒。", "Half of this road's messages come three seconds late.")
            }
            DrillFault::NodePaused => {
                self.pick("控制回路停住,之后一次处理所有积压;该节点的画面只剩旧数据,另一节点接手。", "The control loop stands still, then does everything at once. Its own screen shows old data; the other node takes over.")
            }
            DrillFault::NodeKilled => {
                self.pick("控制节点退出,结束时重启;该节点的画面会断开并自动恢复,另一节点接手。", "The control node dies and is started again at the end. Its own screen disconnects and comes back alone; the other node takes over.")
            }
            DrillFault::NodeStopped => self.pick(
                "控制节点交出任务后停机,结束时重启;该节点的画面会断开并自动恢复。",
                "The control node hands its tasks over, ends, and is started again at the end. Its own screen comes back alone.",
            ),
            DrillFault::NodeCutOff => self.pick(
                "该节点与消息代理互不可达,台账与租约存储仍可达;其任务交给另一节点。",
                "The node and the broker do not reach each other; its tasks become the other node's.",
            ),
            DrillFault::LedgerCutOff => self.pick(
                "该节点与台账互不可达:不接新单,画面只剩旧数据;其任务交给另一节点。",
                "The node and the ledger do not reach each other: it takes no orders and shows old data; its tasks become the other node's.",
            ),
            DrillFault::GatewayPaused => {
                self.pick("网关回路停住,之后一次处理所有积压。", "The gateway's loop stands still, then does everything at once.")
            }
            DrillFault::GatewayKilled => {
                self.pick("网关退出,结束时重启;其电梯和小车收不到指令。", "The gateway dies and is started again at the end; its lifts and vehicles get no commands.")
            }
            DrillFault::GatewayCutOff => self.pick(
                "网关与消息代理互不可达,仍连着 PLC;其电梯和小车收不到指令,过期的指令不再执行。",
                "The gateway and the broker do not reach each other; it still reads its PLCs. Commands that come too late are not carried out.",
            ),
            DrillFault::BrokerPaused => self.pick(
                "消息代理停住,消息积压,之后一次到达;停得久则连接断开。",
                "The broker stands still: messages wait, then come at once. When it is long, connections break.",
            ),
            DrillFault::BrokerAway => {
                self.pick("所有消息连接断开,谁也收不到消息。", "Every message connection breaks; nobody hears anybody.")
            }
            DrillFault::BrokerForgets => self.pick(
                "所有消息连接断开;消息代理恢复时,保存的会话与消息全部丢失。",
                "Every message connection breaks; the broker comes back without the sessions and messages that it kept.",
            ),
            DrillFault::LedgerAway => {
                self.pick("台账不可写:不接新单,不做新决定。", "The ledger takes nothing: no new orders, no new decisions.")
            }
            DrillFault::LeasesStopped => {
                self.pick("租约存储不应答:不能向电梯下指令。", "The lease store does not answer: no lift can be commanded.")
            }
            DrillFault::ClockAhead => self.pick(
                "该程序的墙上时钟拨快一分钟,结束时拨回;任何决定都不应依赖它。",
                "The program's wall clock is set a minute ahead, and back at the end; no decision may rest on it.",
            ),
            DrillFault::ClockBehind => self.pick(
                "该程序的墙上时钟拨慢一分钟,结束时拨回;任何决定都不应依赖它。",
                "The program's wall clock is set a minute back, and ahead at the end; no decision may rest on it.",
            ),
            DrillFault::LeasesClockAhead => self.pick(
                "租约存储的时钟拨快一分钟:已发放的租约立即到期。",
                "The lease store's clock is set a minute ahead: what was granted is over at once.",
            ),
            DrillFault::LeasesClockBehind => self.pick(
                "租约存储的时钟拨慢一分钟:已发放的租约更晚到期。",
                "The lease store's clock is set a minute back: what was granted lasts longer.",
            ),
            DrillFault::LeasesPartitioned => self.pick(
                "该节点连不上租约存储,不能向电梯下指令;另一节点可以。",
                "This node does not reach the lease store and cannot command lifts by it; the other node does.",
            ),
            DrillFault::LeasesOldCopy => self.pick(
                "租约存储立即由约 10 秒前的副本接管,之后发放的令牌被遗忘。",
                "A copy from some ten seconds ago takes over at once: what was granted since is forgotten.",
            ),
            DrillFault::LeasesEmptied => self.pick(
                "租约存储立即清空,令牌从头开始:网关拒绝旧令牌,直到追上。",
                "The lease store forgets everything at once: gateways refuse its old tokens until they have caught up.",
            ),
        }
    }

    pub(crate) fn drill_place(self, place: &DrillPlace) -> String {
        match place {
            DrillPlace::Site => self.pick("全场", "whole site").to_owned(),
            DrillPlace::Lift(id) => format!("{} {id}", self.pick("电梯", "lift")),
            DrillPlace::Vehicle(id) => format!("{} {id}", self.pick("小车", "vehicle")),
            DrillPlace::Floor(id) => self.floor(id.as_str()),
            DrillPlace::Gateway(id) => format!("{} {id}", self.pick("网关", "gateway")),
            DrillPlace::Node(id) => format!("{} {id}", self.pick("节点", "node")),
            DrillPlace::Road(road) => self.drill_road(*road).to_owned(),
        }
    }

    fn drill_road(self, road: DrillRoad) -> &'static str {
        match road {
            DrillRoad::Command => self.pick("控制 → 网关:指令", "control → gateways: commands"),
            DrillRoad::Outcome => self.pick("网关 → 控制:结果", "gateways → control: outcomes"),
            DrillRoad::Status => self.pick("网关 → 控制:状态", "gateways → control: status"),
            DrillRoad::VehicleCommand => self.pick("网关 → 小车:指令", "gateways → vehicles: commands"),
            DrillRoad::VehicleAnswer => self.pick("小车 → 控制:应答", "vehicles → control: answers"),
            DrillRoad::VehicleState => self.pick("小车 → 控制:状态", "vehicles → control: state"),
            DrillRoad::Beat => self.pick("控制 → 小车:心跳", "control → vehicles: beats"),
            DrillRoad::Store => self.pick("控制 ↔ 租约存储", "control ↔ lease store"),
            DrillRoad::Ledger => self.pick("控制 → 台账", "control → ledger"),
            DrillRoad::GatewayBeat => self.pick("控制 → 网关:心跳", "control → gateways: beats"),
        }
    }

    /// Why the panel's request was refused; none for what the panel itself never asks.
    pub(crate) fn drill_refusal(self, code: &str) -> Option<&'static str> {
        match code {
            "drill_collides" => Some(self.pick(
                "此处已有同类故障,请先在下方结束。",
                "A fault of this kind stands there already; end it first, below.",
            )),
            "drill_over" => Some(self.pick("该演习已经结束。", "The drill is over already.")),
            "too_many_drills" => Some(self.pick(
                "同时注入的故障已达上限,请先结束一项。",
                "As many faults stand as may; end one first.",
            )),
            "ledger_unavailable" => Some(self.pick(
                "台账暂时不可写:未记录的故障不会注入。",
                "The ledger takes nothing now, and nothing is injected that is not recorded.",
            )),
            _ => None,
        }
    }

    pub(crate) fn drill_end(self, end: DrillEnd) -> &'static str {
        match end {
            DrillEnd::RanOut => self.pick("到时结束", "ran out"),
            DrillEnd::ByHand => self.pick("人工结束", "ended by hand"),
            DrillEnd::Interrupted => self.pick("被打断", "interrupted"),
        }
    }

    pub(crate) fn drills_running(self, n: usize) -> String {
        match (self, n) {
            (Self::ZhCn, 0) => "当前无注入".to_owned(),
            (Self::ZhCn, n) => format!("正在注入 {n} 项"),
            (Self::En, 0) => "nothing injected now".to_owned(),
            (Self::En, n) => format!("{n} injected now"),
        }
    }

    pub(crate) fn left(self, span: &str) -> String {
        match self {
            Self::ZhCn => format!("还剩 {span}"),
            Self::En => format!("{span} left"),
        }
    }
}
