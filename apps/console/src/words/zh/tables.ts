import type { tables as en } from '../en/tables.ts';

export const tables: typeof en = {
  classes: {
    input: '输入',
    cache_read: '缓存读取',
    cache_write: '缓存写入',
    output: '输出',
    cache_write_1h: '缓存写入（1 小时）',
    audio_input: '音频输入',
    audio_output: '音频输出',
    image_input: '图像输入',
    image_output: '图像输出',
    searches: '搜索次数',
  },
  limits: {
    rpm: { name: '每分钟请求数', short: (limit) => `${limit} / 分钟` },
    rph: { name: '每小时请求数', short: (limit) => `${limit} / 小时` },
    rpd: { name: '每天请求数', short: (limit) => `${limit} / 天` },
    tpm: { name: '每分钟 token 数', short: (limit) => `${limit} token / 分钟` },
    tph: { name: '每小时 token 数', short: (limit) => `${limit} token / 小时` },
    tpd: { name: '每天 token 数', short: (limit) => `${limit} token / 天` },
    concurrency: { name: '同时请求数', short: (limit) => `同时 ${limit} 个` },
    max_input_tokens: { name: '提示的 token 数', short: (limit) => `输入 ${limit} token` },
    max_output_tokens: { name: '回答的 token 数', short: (limit) => `输出 ${limit} token` },
  },
  callers: {
    chat: '对话补全',
    messages: 'Messages',
    embeddings: 'Embeddings',
    responses: 'Responses',
    completions: '旧版补全',
    generate: 'Gemini',
  },
  providers: {
    openai: 'OpenAI',
    anthropic: 'Anthropic',
    azure: 'Azure',
    gemini: 'Gemini',
    vertex: '谷歌 Vertex AI',
    bedrock: '亚马逊 Bedrock',
  },
  outcomes: {
    completed: { name: '已完成', says: '回答已完整送达。' },
    client_closed: { name: '客户端断开', says: '客户端关闭了连接；已送达的部分照常计费。' },
    upstream_failed: { name: '上游失败', says: '没有上游给出回答，未送达任何内容。' },
    upstream_interrupted: { name: '上游中断', says: '上游中途停止；已送达的部分照常计费。' },
    balance_exhausted: { name: 'tokens 用尽', says: '订阅余额已用尽；购买更多 tokens 后可继续。' },
    access_revoked: {
      name: '访问被终止',
      says: '回答过程中密钥、账户或订阅被停用，或有人结束了请求。',
    },
    node_stopped: {
      name: '节点停止',
      says: '回答过程中节点被关闭，或 45 秒内无法连接 Redis 或得不到处理器；已送达的部分照常计费。',
    },
    node_lost: { name: '节点失联', says: '节点尚未恢复；已按最后的检查点计费，之后可能会更正。' },
  },
};
