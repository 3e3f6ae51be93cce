import type { Language } from './words.ts';

export type AlertSentences = Readonly<Record<string, string>>;

const zh: AlertSentences = {
  node_offline: '节点 {subject} 已 10 秒没有报告',
  node_refuses_snapshot: '节点 {subject} 拒绝已发布的配置：{reason}',
  node_misconfigured: '节点 {subject} 的 SHARDS={found}，本系统为 {shards}；它不再处理请求',
  'node_clock.ahead':
    '节点 {subject} 的时钟比提供商快 {minutes} 分钟；在此期间按提供商的时间签名请求',
  'node_clock.behind':
    '节点 {subject} 的时钟比提供商慢 {minutes} 分钟；在此期间按提供商的时间签名请求',
  bad_node_proof: '以节点 {subject} 名义发来的报告没有有效凭证，已被忽略',
  snapshot_pinned: '发布固定在版本 {version}（回滚到 {rollback_of}）；更改在取消固定前等待',
  publication_failed: '配置更改无法发布；节点保留最后一个完好的版本',
  upstream_failing:
    '上游 {subject} 连续失败 {failures} 次或更多；节点最长 15 秒内不再使用失败的路由，之后各用一个请求试探',
  upstream_overruns:
    '上游 {subject} 生成的内容超出输出上限；超出部分不收费，一小时内相关账户的预留量最多乘以 {hold_factor}',
  usage_doubted:
    '上游 {subject} 报告的用量存疑（近几小时 {doubts} 次，最后一次：{last_doubt}）；不可能正确时按上限或网关自己的计数收费',
  prompt_excess:
    '上游 {subject} 对模型 {model} 报告的输入超出上限：{answers} 个回答共 {tokens} 个 token，单个最多 {largest}；超出部分不收费。若供应商对此计费，请在上限表中增加一行',
  'settlement_backlog.node': '节点 {subject} 有 {finals} 条结算尚未写入 PostgreSQL',
  'settlement_backlog.outbox': '分片 {shard} 的发件箱中，同一条用量排在最前已超过一分钟：尚未入账',
  'settlement_backlog.queue': '队列 {queue} 中，同一条用量排在最前已超过一分钟：尚未入账',
  journal_set_aside:
    '节点 {subject} 有 {files} 个日志文件无法完整读取；它们以 *.set-aside.* 之名留在其 DATA_DIR 中',
  dead_letter: '{events} 条用量无法入账，作为死信等待，例如：{reason}',
  'drift.below': 'Redis 中的余额比账本少 {difference} 个 token；已修复',
  'drift.above': 'Redis 中的余额比账本多 {difference} 个 token；已修复',
  'drift.reap':
    '请求 {rid} 的 {tokens} 个 token 在 Redis 与账本之间丢失；其节点已不在，因此重新发送',
  'drift.credits': 'Redis 计入 {counted} 笔入账，而 PostgreSQL 只给出 {given} 笔；已恢复',
  'drift.lost_credits': 'Redis 曾有 {last} 笔入账，现只有 {counted} 笔；其余的重新发送',
  'drift.unreadable': 'Redis 中的余额无法读取；已按账本重写',
  'drift.held': 'Redis 中预留了 {before} 个 token，而运行中的请求只预留 {held} 个；已重新计算',
  'drift.budget': '预算在 Redis 中预留 {before}，而运行中的请求只预留 {held}；已重新计算',
  'drift.budget_used': 'Redis 中预算只计入 {before}，而账本已记 {used}；已提高',
  'redis_tampered.usage':
    'Redis 中有 {events} 条用量并非来自其所称的节点；它们作为死信等待，例如：{reason}',
  'redis_tampered.snapshot': 'Redis 中版本 {version} 的配置被改动；已按 PostgreSQL 重写',
  'redis_tampered.seal': 'Redis 中版本 {version} 的配置印记缺失或是伪造的；已按 PostgreSQL 重写',
  'redis_tampered.version': 'Redis 中记为当前配置版本的内容不是版本号；已按 PostgreSQL 重写',
  'redis_tampered.types': 'Redis 中有类型不属于 Tollgate 的键：{keys}；已删除并重写',
  'redis_tampered.records': 'Redis 中有并非控制平面写入的记录：{records}；已重写',
  'redis_data_lost.lost': 'Redis 丢失了分片 {shard} 的数据；正在由 PostgreSQL 重新填充',
  'redis_data_lost.stale':
    'Redis 中分片 {shard} 的纪元与 PostgreSQL 不同：其数据早于一次丢失，或 PostgreSQL 丢失了该更改；正在由 PostgreSQL 重新填充',
  restore_open:
    '数据库由 {taken_at} 的备份恢复；在运行 tollgate-ops loss 之前，Redis 中的余额不作核对',
  overdraft: '使用或取出的 token 超出余额 {tokens} 个；已记为透支',
  budget_threshold: '预算 {budget_id} 已用 {percent}%：{used} / {limit}（{unit}）',
  budget_exhausted: '预算 {budget_id} 已用完：{used} / {limit}（{unit}）',
  budget_shared: '预算 {budget_id} 的会话或最终用户超过 {values_max} 个；其余的共用一个计数',
  low_balance: '最近一次购买的 {bought} 个 token 还剩 {balance} 个',
  'auto_recharge_failed.funds': '无法自动充值：钱包余额不足以购买 {amount} 个 token',
  'auto_recharge_failed.refused': '无法自动充值：{reason}',
  payout_unsettled: '退款 {payout_id} 尝试 {attempts} 次后仍没有结果',
  partitions_late: '无法创建 usage_events 中 {day} 的分区：另一个事务持有锁，该日的请求查询会变慢',
};

/** Holds sentences by rule, or rule and kind, with the names of the alert's `detail` in braces. The server's own sentences are English. */
export const ALERT_SENTENCES: Readonly<Record<Language, AlertSentences>> = { en: {}, zh };
