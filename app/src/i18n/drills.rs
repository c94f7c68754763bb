//! Words of drills: what is injected, where, and what will be seen of it.

mod effects;

use kernel::drill::{DrillEnd, DrillFault, DrillGroup, DrillPlace, DrillRoad};

use super::Locale;
use effects::EFFECTS;

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
        let row = EFFECTS.iter().find(|(of, ..)| *of == fault);
        row.map_or("", |(_, zh, en)| self.pick(zh, en))
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
