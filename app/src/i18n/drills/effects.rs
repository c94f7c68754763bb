//! What will be seen of each fault, in a plain sentence: Chinese, English.

use kernel::drill::DrillFault;

/// In the order of the faults.
pub(super) const EFFECTS: [(DrillFault, &str, &str); 46] = [
    (
        DrillFault::DoorStuck,
        "门不动。乘梯停在原处等候。",
        "The door does not move. Rides wait where they are.",
    ),
    (
        DrillFault::SillBlocked,
        "门槛上有异物,门每次关闭都会重新打开。",
        "Something stands on the sill: each time the door closes, it reopens.",
    ),
    (
        DrillFault::PlcFrozen,
        "PLC 停止扫描,寄存器不再变化。",
        "The PLC does not scan, and its registers stand still.",
    ),
    (
        DrillFault::PlcSlow,
        "PLC 每次扫描用时为平时的 5 倍。",
        "Each scan of the PLC takes five times as long.",
    ),
    (DrillFault::SensorLate, "轿厢占用信号滞后 3 秒。", "The car's load shows three seconds late."),
    (
        DrillFault::SensorBlind,
        "轿厢占用信号始终显示空,无论车内有谁。",
        "The car's sensor shows an empty car, whoever is in it.",
    ),
    (
        DrillFault::PeopleMode,
        "钥匙开关把电梯交给人,小车不能使用。",
        "The key switch gives the lift to people; no vehicle may use it.",
    ),
    (DrillFault::MaintenanceMode, "电梯检修,轿厢停住。", "Somebody works on the lift; it stands."),
    (
        DrillFault::FireMode,
        "消防召回:轿厢降到最低层并开门。",
        "Fire recall: the car goes to the lowest stop and opens.",
    ),
    (
        DrillFault::EmergencyMode,
        "急停按钮按下,轿厢停住。",
        "An emergency button is pressed; the car stands still.",
    ),
    (
        DrillFault::PlcRebooted,
        "PLC 立即重启,手中的指令丢失。",
        "The PLC starts again at once and loses what it had in hand.",
    ),
    (DrillFault::CarCalled, "有人立即把轿厢呼到最远的一层。", "Somebody calls the car to the farthest stop."),
    (
        DrillFault::StrayCall,
        "台账之外的程序立即按边缘仲裁的格式呼梯到最远的一层;网关不自行仲裁时予以拒绝。",
        "A program that the ledger does not know calls the car to the farthest stop, as nodes do by edge arbitration; a gateway that does not arbitrate refuses.",
    ),
    (
        DrillFault::RadioCut,
        "此处无线完全中断,小车失联。",
        "Nothing passes the radio there; vehicles go silent.",
    ),
    (DrillFault::RadioThin, "信号弱,十帧丢三帧。", "The signal is weak, and three of ten frames are lost."),
    (
        DrillFault::RadioInterference,
        "信号强,但十帧仍丢三帧。",
        "The signal is strong, and three of ten frames are lost all the same.",
    ),
    (DrillFault::RadioSlow, "每帧晚到 1.5 秒。", "Each frame comes a second and a half late."),
    (
        DrillFault::VehicleRestarted,
        "小车控制器立即重启,手中的动作中断。",
        "The vehicle's controller starts again at once and drops its work in hand.",
    ),
    (
        DrillFault::VehicleFrozen,
        "小车控制器停住,小车原地不动、没有心跳;之后一次收到所有积压。最长 29 秒。",
        "The vehicle's controller stands still, and the vehicle with it: no heartbeat. Then it takes everything at once. 29 s at most.",
    ),
    (
        DrillFault::VehicleSensorLate,
        "小车自身的传感器滞后 3 秒才显示已进入或已离开轿厢。",
        "The vehicle's own sensor shows three seconds late that it is in the car, or out of it.",
    ),
    (
        DrillFault::AnswerLost,
        "PLC 执行写入,但应答丢失。",
        "The PLC does what is written, and its answer is lost.",
    ),
    (
        DrillFault::ClosesInWrite,
        "PLC 收下写入后断开,不应答。",
        "The PLC takes a write and closes the connection without an answer.",
    ),
    (DrillFault::PlcLinkDown, "网关连不上 PLC。", "The gateway cannot reach the PLC."),
    (DrillFault::MessagesDropped, "该通道的消息丢失一半。", "Half of this road's messages are lost."),
    (
        DrillFault::MessagesDoubled,
        "该通道一半的消息 1 秒后重复到达。",
        "Half of this road's messages come again after a second.",
    ),
    (
        DrillFault::MessagesDelayed,
        "该通道一半的消息晚到 3 秒。",
        "Half of this road's messages come three seconds late.",
    ),
    (
        DrillFault::NodePaused,
        "控制回路停住,之后一次处理所有积压;该节点的画面只剩旧数据,另一节点接手。",
        "The control loop stands still, then does everything at once. Its own screen shows old data; the other node takes over.",
    ),
    (
        DrillFault::NodeStopped,
        "控制节点交出任务后停机,结束时重启;该节点的画面会断开并自动恢复。",
        "The control node hands its tasks over, ends, and is started again at the end. Its own screen comes back alone.",
    ),
    (
        DrillFault::NodeKilled,
        "控制节点退出,结束时重启;该节点的画面会断开并自动恢复,另一节点接手。",
        "The control node dies and is started again at the end. Its own screen disconnects and comes back alone; the other node takes over.",
    ),
    (
        DrillFault::NodeCutOff,
        "该节点与消息代理互不可达,台账与租约存储仍可达;其任务交给另一节点。",
        "The node and the broker do not reach each other; its tasks become the other node's.",
    ),
    (
        DrillFault::LedgerCutOff,
        "该节点与台账互不可达:不接新单,画面只剩旧数据;其任务交给另一节点。",
        "The node and the ledger do not reach each other: it takes no orders and shows old data; its tasks become the other node's.",
    ),
    (
        DrillFault::GatewayPaused,
        "网关回路停住,之后一次处理所有积压。",
        "The gateway's loop stands still, then does everything at once.",
    ),
    (
        DrillFault::GatewayKilled,
        "网关退出,结束时重启;其电梯和小车收不到指令。",
        "The gateway dies and is started again at the end; its lifts and vehicles get no commands.",
    ),
    (
        DrillFault::GatewayCutOff,
        "网关与消息代理互不可达,仍连着 PLC;其电梯和小车收不到指令,过期的指令不再执行。",
        "The gateway and the broker do not reach each other; it still reads its PLCs. Commands that come too late are not carried out.",
    ),
    (
        DrillFault::ClockAhead,
        "该程序的墙上时钟拨快一分钟,结束时拨回;任何决定都不应依赖它。",
        "The program's wall clock is set a minute ahead, and back at the end; no decision may rest on it.",
    ),
    (
        DrillFault::ClockBehind,
        "该程序的墙上时钟拨慢一分钟,结束时拨回;任何决定都不应依赖它。",
        "The program's wall clock is set a minute back, and ahead at the end; no decision may rest on it.",
    ),
    (
        DrillFault::BrokerPaused,
        "消息代理停住,消息积压,之后一次到达;停得久则连接断开。",
        "The broker stands still: messages wait, then come at once. When it is long, connections break.",
    ),
    (
        DrillFault::BrokerAway,
        "所有消息连接断开,谁也收不到消息。",
        "Every message connection breaks; nobody hears anybody.",
    ),
    (
        DrillFault::BrokerForgets,
        "所有消息连接断开;消息代理恢复时,保存的会话与消息全部丢失。",
        "Every message connection breaks; the broker comes back without the sessions and messages that it kept.",
    ),
    (
        DrillFault::LedgerAway,
        "台账不可写:不接新单,不做新决定。",
        "The ledger takes nothing: no new orders, no new decisions.",
    ),
    (
        DrillFault::LeasesStopped,
        "租约存储不应答:不能向电梯下指令。",
        "The lease store does not answer: no lift can be commanded.",
    ),
    (
        DrillFault::LeasesPartitioned,
        "该节点连不上租约存储,不能向电梯下指令;另一节点可以。",
        "This node does not reach the lease store and cannot command lifts by it; the other node does.",
    ),
    (
        DrillFault::LeasesEmptied,
        "租约存储立即清空,令牌从头开始:网关拒绝旧令牌,直到追上。",
        "The lease store forgets everything at once: gateways refuse its old tokens until they have caught up.",
    ),
    (
        DrillFault::LeasesOldCopy,
        "租约存储立即由约 10 秒前的副本接管,之后发放的令牌被遗忘。",
        "A copy from some ten seconds ago takes over at once: what was granted since is forgotten.",
    ),
    (
        DrillFault::LeasesClockAhead,
        "租约存储的时钟拨快一分钟:已发放的租约立即到期。",
        "The lease store's clock is set a minute ahead: what was granted is over at once.",
    ),
    (
        DrillFault::LeasesClockBehind,
        "租约存储的时钟拨慢一分钟:已发放的租约更晚到期。",
        "The lease store's clock is set a minute back: what was granted lasts longer.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_sentence_in_both_languages() {
        assert_eq!(EFFECTS.map(|(fault, ..)| fault), DrillFault::ALL);
        assert!(EFFECTS.iter().all(|(_, zh, en)| zh.ends_with('。') && en.ends_with('.')));
    }
}
