//! Why a ride does not go on, what settles a doubt, and the other sentences of a lift's page.

use chrono::{DateTime, Utc};
use kernel::ids::CommandId;
use kernel::wire::view::{LiftWait, SettlingView};

use super::Locale;

impl Locale {
    pub(crate) fn lift_wait(self, wait: &LiftWait) -> String {
        match wait {
            LiftWait::Turn { after } => self.named("排在", after.as_str(), "之后", "its turn, after", ""),
            LiftWait::GatewaySilent => self.pick("网关恢复联络", "its gateway, which is silent").to_owned(),
            LiftWait::Unreachable => self.pick("PLC 恢复可达", "the PLC, which is out of reach").to_owned(),
            LiftWait::Frozen => self.pick("PLC 恢复扫描", "the PLC, whose registers stand still").to_owned(),
            LiftWait::OldRead => {
                self.pick("新的读数,现有读数过旧", "a newer read than the last one").to_owned()
            }
            LiftWait::Verifying { command } => {
                self.named("查实指令", command.as_str(), "的结果", "what became of command", "")
            }
            LiftWait::Mode { mode } => {
                self.named("小车模式,现为", self.lift_mode(*mode), "", "vehicle mode; now:", "")
            }
            LiftWait::Fault { code } => {
                self.named("故障排除,代码", &code.to_string(), "", "the end of fault", "")
            }
            LiftWait::Elsewhere { node: Some(node) } => {
                self.named("由节点", node.as_str(), "处理", "node", "drives it and knows more")
            }
            LiftWait::Elsewhere { node: None } => {
                self.pick("有节点承担其任务", "a node that drives its task").to_owned()
            }
            LiftWait::CarOccupied => self.pick("轿厢确认为空", "an empty car, by its sensor").to_owned(),
            LiftWait::Ledger => self.pick("决定记入台账", "the ledger to take the decision").to_owned(),
            LiftWait::Moves => self.pick("电梯完成动作", "the lift, which is at work").to_owned(),
            LiftWait::LeaseHeld { holder } => {
                self.named("控制权,现由", holder.as_str(), "持有", "the lease, which", "holds")
            }
            LiftWait::StoreAway => self.pick("租约服务应答", "the lease store, which is away").to_owned(),
            LiftWait::StoreChanged => self
                .pick("台账记入更换的租约服务", "the ledger to take the lease store's new life")
                .to_owned(),
            LiftWait::NotReplicated => {
                self.pick("租约服务副本确认", "replicas of the lease store to confirm").to_owned()
            }
            LiftWait::LeaseLost { command } => self.lease_lost(command.as_ref()),
            LiftWait::Lease => self.pick("控制权,已申请", "the lease, which was asked for").to_owned(),
            LiftWait::Read => self.pick("新的读数", "a new read").to_owned(),
            LiftWait::Record => {
                self.pick("核对是否已有相同呼梯", "whether the same call was made").to_owned()
            }
            LiftWait::Joined { command } => {
                self.named("相同呼梯", command.as_str(), "的结果", "the outcome of the same call,", "")
            }
            LiftWait::Outcome { command } => {
                self.named("指令", command.as_str(), "的应答", "the answer to command", "")
            }
            LiftWait::Edge { command } => {
                self.named("网关裁决指令", command.as_str(), "", "the gateway to decide on", "")
            }
            LiftWait::Returning => {
                self.pick("租约服务接受新纪元", "the lease store, which lacks the new epoch").to_owned()
            }
            LiftWait::Vehicle => self.pick("小车驶入或驶出", "the vehicle to drive in or out").to_owned(),
            LiftWait::Sensor => {
                self.pick("轿厢传感器确认(小车已报)", "the car's sensor; the vehicle has said so").to_owned()
            }
            LiftWait::Word => {
                self.pick("小车报告(传感器已确认)", "the vehicle's word; the sensor shows it").to_owned()
            }
        }
    }

    fn lease_lost(self, command: Option<&CommandId>) -> String {
        match command {
            Some(command) => self.named(
                "指令",
                command.as_str(),
                "的应答(控制权已失)",
                "the answer to command",
                "under a lease that was lost",
            ),
            None => self.pick("控制权,先前的已失效", "the lease; the last one was lost").to_owned(),
        }
    }

    /// What settles a command in doubt; `clock` writes a time.
    pub(crate) fn settling(self, step: SettlingView, clock: impl Fn(DateTime<Utc>) -> String) -> String {
        match step {
            SettlingView::Reads { at } => {
                let when = clock(at);
                match self {
                    Self::ZhCn => format!("每 0.2 秒读取一次;读数不断,最早 {when} 查实。"),
                    Self::En => format!("It is read each 0.2 s; if no read fails, settled at {when}."),
                }
            }
            SettlingView::NoReads => {
                self.pick(
                    "读取失败;首次读到后 1 秒查实。",
                    "Reads fail; settled 1 s after the first good one.",
                )
            }
            .to_owned(),
            SettlingView::Frozen => {
                self.pick(
                    "PLC 停止扫描;恢复后 1 秒查实。",
                    "The PLC does not scan; settled 1 s after it does.",
                )
            }
            .to_owned(),
            SettlingView::Restarted => self
                .pick(
                    "PLC 已重启,电梯与下令前不同:需恢复原状,或由人工确认。",
                    "The PLC started anew and the lift is not as before: it has to be, or a person decides.",
                )
                .to_owned(),
            SettlingView::Unclear => self
                .pick(
                    "PLC 无回执,电梯既非原状也未达成命令:需见其达成,或由人工确认。",
                    "The PLC gives no echo, and the lift shows neither the command nor what was before: a person decides.",
                )
                .to_owned(),
            SettlingView::Outcome { at } => {
                let when = clock(at);
                match self {
                    Self::ZhCn => format!("网关未应答;{when} 后的首次读数查实。"),
                    Self::En => {
                        format!("The gateway gave no answer; the first read after {when} settles it.")
                    }
                }
            }
            SettlingView::GatewaySilent => {
                self.pick("网关失联,无法读取。", "The gateway is silent, so nobody reads it.").to_owned()
            }
        }
    }

    /// A name within a sentence.
    fn named(self, zh: &str, name: &str, zh_end: &str, en: &str, en_end: &str) -> String {
        let (before, after) = match self {
            Self::ZhCn => (zh, zh_end),
            Self::En => (en, en_end),
        };
        [before, name, after].join(" ").trim_end().to_owned()
    }

    pub(crate) fn in_doubt(self, command: &str) -> String {
        self.named(
            "指令",
            command,
            "结果未知,不再下发。",
            "What became of command",
            "is not known; nothing is sent.",
        )
    }

    pub(crate) fn no_such_lift(self, name: &str) -> String {
        self.named("本场地没有电梯", name, "", "This site has no lift", "")
    }

    pub(crate) fn gateway_is_silent(self, name: &str) -> String {
        self.named(
            "网关",
            name,
            "失联:以下为最后所知。",
            "Gateway",
            "is silent: this is what was known last.",
        )
    }

    pub(crate) fn gateway_never_heard(self, name: &str) -> String {
        self.named("尚未收到网关", name, "的消息。", "Gateway", "has not been heard since this node started.")
    }

    pub(crate) fn epoch(self, epoch: u32) -> String {
        self.named("纪元", &epoch.to_string(), "", "epoch", "")
    }

    pub(crate) fn held_for(self, span: &str) -> String {
        self.named("已持有", span, "", "held for", "")
    }

    pub(crate) fn ends_in(self, span: &str) -> String {
        self.named("", span, "后到期", "ends in", "").trim_start().to_owned()
    }

    pub(crate) fn renewed_before(self, span: &str) -> String {
        self.named("", span, "前续期", "renewed", "ago").trim_start().to_owned()
    }

    pub(crate) fn end_unknown(self, holder: &str) -> String {
        self.named("到期时间仅", holder, "知道", "its end is known to", "alone")
    }

    pub(crate) fn contradicts(self, issuer: &str, ms: i64) -> String {
        match self {
            Self::ZhCn => format!("与 {issuer} 的指令矛盾 · 相隔 {ms} ms"),
            Self::En => format!("contradicts {issuer} · {ms} ms apart"),
        }
    }

    pub(crate) fn contradicts_unlisted(self, command: &str) -> String {
        self.named("与指令", command, "矛盾", "contradicts", "")
    }

    pub(crate) fn joined_call(self, whose: &str) -> String {
        self.named("并入", whose, "的呼梯,未下发", "joined the call of", "and was not sent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::VehicleId;

    #[test]
    fn a_reason_is_a_sentence_in_both_languages() {
        let turn = LiftWait::Turn { after: VehicleId::try_new("V03").unwrap() };
        let rows = [
            (turn, "排在 V03 之后", "its turn, after V03"),
            (LiftWait::Fault { code: 7 }, "故障排除,代码 7", "the end of fault 7"),
            (LiftWait::Elsewhere { node: None }, "有节点承担其任务", "a node that drives its task"),
            (
                LiftWait::LeaseLost { command: CommandId::try_new("C-A1.1").ok() },
                "指令 C-A1.1 的应答(控制权已失)",
                "the answer to command C-A1.1 under a lease that was lost",
            ),
            (
                LiftWait::LeaseLost { command: None },
                "控制权,先前的已失效",
                "the lease; the last one was lost",
            ),
        ];
        for (wait, zh, en) in rows {
            let told = (Locale::ZhCn.lift_wait(&wait), Locale::En.lift_wait(&wait));
            assert_eq!(told, (zh.to_owned(), en.to_owned()), "{wait:?}");
        }
        assert_eq!(
            (Locale::ZhCn.ends_in("24 秒"), Locale::En.ends_in("24 s")),
            ("24 秒 后到期".to_owned(), "ends in 24 s".to_owned())
        );
        assert_eq!(
            (Locale::ZhCn.renewed_before("1 秒"), Locale::En.renewed_before("1 s")),
            ("1 秒 前续期".to_owned(), "renewed 1 s ago".to_owned())
        );
    }

    #[test]
    fn a_doubt_says_when_it_is_settled() {
        let step = SettlingView::Reads { at: crate::sample::at(0) };
        let text = Locale::En.settling(step, |_| "14:32:07".to_owned());
        assert_eq!(text, "It is read each 0.2 s; if no read fails, settled at 14:32:07.");
    }
}
