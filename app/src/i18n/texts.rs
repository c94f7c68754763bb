//! Fixed texts and those with a figure or a name in them.

use super::Locale;

macro_rules! texts {
    ($($name:ident: $zh:literal, $en:literal;)*) => {
        /// Fixed texts, by what they say in English.
        impl Locale {$(
            pub(crate) fn $name(self) -> &'static str {
                match self {
                    Self::ZhCn => $zh,
                    Self::En => $en,
                }
            }
        )*}
    };
}

texts! {
    skip_to_tasks: "跳到任务表", "Skip to the task table";
    skip_to_lift: "跳到电梯", "Skip to the lift";
    pages: "页面", "Pages";
    overview: "总览", "Overview";
    node: "控制节点", "control";
    nodes: "控制节点", "Control nodes";
    this_page: "本页", "this page";
    last_beat: "最近心跳", "last heard";
    claimed_tasks: "承担任务", "tasks";
    claimed_by: "承担节点", "claimed by";
    version: "版本", "version";
    ledger: "台账", "ledger";
    ledger_closed: "不可写", "not writable";
    broker: "消息代理", "broker";
    ok: "正常", "ok";
    down: "中断", "down";
    gateways: "网关", "gateways";
    sequence: "序号", "seq";
    server_clock: "服务器时间", "Server time";
    connecting: "正在连接", "connecting";
    live: "实时", "live";
    stopped: "已停止", "stopped";
    switch_language: "English", "中文";
    to_night: "夜间", "Night";
    to_day: "日间", "Day";
    alarms: "报警", "Alarms";
    no_alarms: "无报警", "No alarms";
    all_alarms: "全部报警", "All alarms";
    section: "楼层剖面图", "Section of the site";
    place_unknown: "位置未知", "Place unknown";
    station: "站点", "Station";
    waiting_point: "等候点", "Waiting point";
    never_heard: "尚未收到", "not heard yet";
    carries: "载货", "carries";
    battery: "电量", "battery";
    lifts: "电梯", "Lifts";
    lift: "电梯", "Lift";
    no_lifts: "本场地没有电梯。", "This site has no lift.";
    state: "状态", "State";
    control: "控制权", "Control";
    session: "乘梯", "Ride";
    mode: "模式", "Mode";
    plc: "PLC", "PLC";
    connections_lost: "断线", "breaks";
    rejected: "未识别消息", "not understood";
    gateway: "网关", "Gateway";
    car: "轿厢", "Car";
    car_occupied: "有物", "something inside";
    car_empty: "空", "empty";
    free: "无人持有", "nobody holds it";
    no_session: "无", "nobody rides";
    token: "令牌", "token";
    edge_arbitration: "边缘仲裁", "edge arbitration";
    edge_strip: "电梯由网关边缘仲裁", "Lift under edge arbitration";
    edge_meaning: "没有控制节点能连上租约服务:指令不凭租约,由网关自行裁决。任务照常,恢复后自动退出。",
        "No control node reaches the lease store: commands pass without a lease, and the gateway decides. Orders go on; it ends by itself.";
    edge_decides: "指令不凭租约,由网关自行裁决。", "Commands pass without a lease; the gateway decides by itself.";
    returning: "租约服务已恢复,尚未接受新纪元。", "The lease store is back and lacks the new epoch.";
    free_meaning: "每条指令单独申请一次控制权,用后即还。", "A lease is taken for each command and given back with its answer.";
    renewal: "每 5 秒续期,一条指令最长占用 6 秒。", "Renewed each 5 s; a command takes 6 s at most.";
    shaft: "井道", "Shaft";
    waits_for: "等待", "waits for";
    note: "备注", "note";
    contradiction: "矛盾", "contradiction";
    joined: "已并入", "joined";
    last_known: "以下为最后所知,不代表现场。", "This is what was known last and does not show the plant.";
    lift_not_heard: "本节点启动后尚未收到该电梯的消息。", "Nothing has been heard of this lift since this node started.";
    no_such_lift_hint: "地址可能有误,或场地文件已更改。", "The address may be wrong, or the site file has changed.";
    read: "读取于", "Read";
    not_read_yet: "尚未读到", "not read yet";
    verifying: "待校验", "verifying";
    unreachable: "不可达", "unreachable";
    waiting: "等候", "Waiting";
    nobody_waits: "无人等候", "Nobody waits";
    commands: "最近指令", "Last commands";
    no_commands: "尚无指令", "No commands yet";
    at: "时刻", "at";
    issuer: "发出方", "from";
    command: "指令", "command";
    answer: "应答", "answer";
    no_answer_yet: "尚无应答", "none yet";
    vehicle: "小车", "vehicle";
    trip: "行程", "trip";
    waits: "已等", "waits";
    phase: "阶段", "phase";
    task: "任务", "task";
    tasks: "任务", "Tasks";
    way: "起点 → 终点", "from → to";
    state_of_task: "状态", "state";
    known: "确认程度", "what is known";
    now: "当前", "now";
    since: "历时", "since";
    priority: "优先级", "priority";
    budget: "应答时限", "acknowledgement budget";
    budget_transport: "往返传输", "transport, there and back";
    budget_execution: "执行", "execution";
    budget_lift: "电梯", "lift";
    budget_roaming: "漫游", "roaming";
    no_tasks: "暂无任务。", "No tasks yet.";
    no_tasks_hint: "WMS 通过 REST 下单,例如:", "A WMS places orders over REST, for example:";
    no_stations: "本场地没有可下单的站点。", "This site has no two stations to carry between.";
    silent_as_expected: "预期静默,计时冻结", "silent as expected, timers frozen";
    withdrawal_asked: "已请求撤回,小车出梯后撤回",
        "withdrawal asked; it is taken back when the vehicle is out of the lift";
    no_vehicle: "未派车", "unassigned";
    not_live: "以下为页面生成时的状态,尚未实时更新。", "This is the state when the page was made; it is not live yet.";
    data_stopped: "数据已停止", "Data stopped";
    connection_lost: "连接已断开", "Connection lost";
    old_data: "以下均为旧数据,不代表现场。正在自动重连。",
        "Everything here is old and does not show the plant. Reconnecting by itself.";
    drill: "演习", "DRILL";
    drill_band: "故障为人为注入,本画面与记录中的一切均属演习。", "Faults are injected on purpose: everything on this screen and in its records is a drill.";
    to_drills: "注入故障", "Inject faults";
    drills: "故障演习", "Fault drills";
    drill_what: "故障", "Fault";
    drill_where: "位置", "Where";
    drill_length: "时长", "How long";
    drill_at_once: "立即发生", "at once";
    drill_start: "开始演习", "Start the drill";
    drill_starting: "正在记录", "Being recorded";
    drill_not_live: "画面未实时,不能开始", "Not live, so nothing starts";
    drill_stop: "结束", "End";
    drill_no_answer: "服务器没有应答,不知道是否已开始;请看下方列表。", "The server did not answer, so it is not known whether it began; see the list below.";
    drills_standing: "正在进行", "Injected now";
    no_drills: "当前没有注入故障。", "Nothing is injected now.";
    drills_ended: "最近结束", "Ended last";
    other_version: "页面与服务器版本不一致,请重新加载。", "The page and the server are of different versions. Load the page again.";
}

/// Texts around figures and names.
impl Locale {
    pub(crate) fn counts(self, n_floors: usize, n_lifts: usize, n_vehicles: usize) -> String {
        match self {
            Self::ZhCn => format!("{n_floors} 层 · {n_lifts} 部电梯 · {n_vehicles} 台小车"),
            Self::En => {
                let many = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
                format!(
                    "{} · {} · {}",
                    many(n_floors, "floor"),
                    many(n_lifts, "lift"),
                    many(n_vehicles, "vehicle")
                )
            }
        }
    }

    pub(crate) fn standing(self, n: usize) -> String {
        match self {
            Self::ZhCn => format!("{n} 项报警"),
            Self::En => format!("{n} standing"),
        }
    }

    pub(crate) fn task_counts(self, n_open: usize, n_ended: usize) -> String {
        match self {
            Self::ZhCn => format!("进行中 {n_open} · 已结束 {n_ended}"),
            Self::En => format!("{n_open} open · {n_ended} ended"),
        }
    }

    pub(crate) fn node_tasks(self, n: u32) -> String {
        match (self, n) {
            (Self::ZhCn, n) => format!("{n} 项任务"),
            (Self::En, 1) => "1 task".to_owned(),
            (Self::En, n) => format!("{n} tasks"),
        }
    }

    pub(crate) fn rows_left_out(self, n: usize) -> String {
        match self {
            Self::ZhCn => format!("另有 {n} 项未列出,可通过 REST 查询。"),
            Self::En => format!("{n} more are not listed here; REST lists them."),
        }
    }

    pub(crate) fn since_when(self, time: &str) -> String {
        match self {
            Self::ZhCn => format!("自 {time} 起"),
            Self::En => format!("since {time}"),
        }
    }

    pub(crate) fn floor(self, name: &str) -> String {
        match self {
            Self::ZhCn => format!("{name} 层"),
            Self::En => format!("floor {name}"),
        }
    }

    pub(crate) fn towards(self, floor: &str, up: bool) -> String {
        match (self, up) {
            (Self::ZhCn, true) => format!("上行,经 {floor} 层"),
            (Self::ZhCn, false) => format!("下行,经 {floor} 层"),
            (Self::En, true) => format!("going up, near floor {floor}"),
            (Self::En, false) => format!("going down, near floor {floor}"),
        }
    }

    pub(crate) fn attempt(self, n: u8, most: u8) -> String {
        match self {
            Self::ZhCn => format!("第 {n} 次下发(最多 {most} 次)"),
            Self::En => format!("delivery {n} of {most}"),
        }
    }

    pub(crate) fn next_in(self, span: &str) -> String {
        match self {
            Self::ZhCn => format!("{span}后重投"),
            Self::En => format!("next in {span}"),
        }
    }

    pub(crate) fn used_of(self, used: &str, whole: &str) -> String {
        match self {
            Self::ZhCn => format!("已用 {used},时限 {whole}"),
            Self::En => format!("{used} of {whole} used"),
        }
    }

    pub(crate) fn held_at_most(self, span: &str) -> String {
        match self {
            Self::ZhCn => format!("限时 {span}"),
            Self::En => format!("at most {span}"),
        }
    }

    pub(crate) fn age(self, text: &str) -> String {
        match self {
            Self::ZhCn => format!("{text}前"),
            Self::En => format!("{text} ago"),
        }
    }

    /// A span as people say it, never more than two units.
    pub(crate) fn span(self, seconds: u64) -> String {
        let (d, h, m, s) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        match (self, d, h, m) {
            (Self::ZhCn, 0, 0, 0) => format!("{s} 秒"),
            (Self::ZhCn, 0, 0, _) => format!("{m} 分 {s:02} 秒"),
            (Self::ZhCn, 0, _, _) => format!("{h} 小时 {m:02} 分"),
            (Self::ZhCn, _, _, _) => format!("{d} 天 {h} 小时"),
            (Self::En, 0, 0, 0) => format!("{s} s"),
            (Self::En, 0, 0, _) => format!("{m} min {s:02} s"),
            (Self::En, 0, _, _) => format!("{h} h {m:02} min"),
            (Self::En, _, _, _) => format!("{d} d {h} h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        let rows = [
            (0, "0 秒", "0 s"),
            (59, "59 秒", "59 s"),
            (161, "2 分 41 秒", "2 min 41 s"),
            (7_500, "2 小时 05 分", "2 h 05 min"),
            (180_000, "2 天 2 小时", "2 d 2 h"),
        ];
        for (seconds, zh, en) in rows {
            assert_eq!(
                (Locale::ZhCn.span(seconds), Locale::En.span(seconds)),
                (zh.to_owned(), en.to_owned())
            );
        }
    }
}
