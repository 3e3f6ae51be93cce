import type { Language } from '../../words/words.ts';

interface Equality {
  title: string;
  says: string;
}

/** Holds what the books prove, by the equality's name in the interface. It loads with this page alone. */
const EQUALITIES: Readonly<Record<string, Readonly<Record<Language, Equality>>>> = {
  ledger_transactions: {
    en: { title: 'Ledger transactions', says: 'The entries of each transaction sum to zero' },
    zh: { title: '账本交易', says: '每笔交易的分录之和为零' },
  },
  wallets: {
    en: { title: 'Wallets', says: 'Each ledger balance is the sum of its entries' },
    zh: { title: '钱包', says: '每个账本余额等于其分录之和' },
  },
  payouts: {
    en: {
      title: 'Payouts',
      says: 'No payment is paid back beyond its amount, and each payout is in the ledger',
    },
    zh: { title: '退款', says: '退款不超过原付款，且每笔退款都在账本中' },
  },
  token_balances: {
    en: { title: 'Token balances', says: 'Each token balance is the sum of its ledger entries' },
    zh: { title: 'Token 余额', says: '每个 token 余额等于其账本分录之和' },
  },
  token_lots: {
    en: { title: 'Purchases', says: 'Each token balance is what its purchases hold' },
    zh: { title: '购买', says: '每个 token 余额等于其各次购买的剩余' },
  },
  overdrafts: {
    en: { title: 'Overdrafts', says: 'Each overdraft is the sum of its rows' },
    zh: { title: '透支', says: '每项透支等于其各行之和' },
  },
  budgets: {
    en: {
      title: 'Budgets',
      says: 'What is used of each budget in a period is what its requests used',
    },
    zh: { title: '预算', says: '每个预算在一个周期内的已用量等于其请求的用量' },
  },
  budget_purchases: {
    en: {
      title: 'Budgets of purchases',
      says: 'What is used of each in a period is what auto-recharge bought in it',
    },
    zh: { title: '购买预算', says: '每个预算在一个周期内的已用额等于自动续购的金额' },
  },
  budget_grants: {
    en: {
      title: 'Grants of budgets',
      says: 'What is granted of each budget in a period is the sum of its grants',
    },
    zh: { title: '预算追加', says: '每个预算在一个周期内的追加额等于各次追加之和' },
  },
  charges: {
    en: {
      title: 'Charges',
      says: 'Each charge is its tokens times the weights of its price version, rounded up',
    },
    zh: { title: '计费', says: '每笔计费等于 token 数乘以价格版本的权重，向上取整' },
  },
  corrections: {
    en: { title: 'Corrections', says: 'What left the balance for a request is its charge' },
    zh: { title: '更正', says: '每个请求从余额扣除的数量等于其计费' },
  },
  expired_holds: {
    en: { title: 'Expired holds', says: 'Each is charged once, before its final' },
    zh: { title: '过期的预留', says: '每个过期的预留只计费一次，且在其最终记录之前' },
  },
  purchases: {
    en: {
      title: 'Prices paid',
      says: 'Each purchase cost its tokens at the price in force, and its wallet paid that',
    },
    zh: { title: '购买价格', says: '每次购买按当时的价格计价，并由其钱包支付' },
  },
  refunds: {
    en: {
      title: 'Refunds',
      says: 'Each refund is the cost of the tokens that were withdrawn, rounded down',
    },
    zh: { title: '退还', says: '每次退还等于所退 token 的成本，向下取整' },
  },
  hourly_rollups: {
    en: { title: 'Usage by hour', says: 'Each hour of usage is the sum of its minutes' },
    zh: { title: '每小时用量', says: '每小时用量等于各分钟之和' },
  },
  daily_rollups: {
    en: { title: 'Usage by day', says: 'Each day of usage is the sum of its hours' },
    zh: { title: '每日用量', says: '每日用量等于各小时之和' },
  },
  minute_totals: {
    en: {
      title: 'Totals by minute',
      says: 'The totals of each minute are the sums of the accounts',
    },
    zh: { title: '每分钟总计', says: '每分钟总计等于各账户之和' },
  },
  totals: {
    en: { title: 'Totals', says: 'The totals of all accounts are the sums of the accounts' },
    zh: { title: '总计', says: '全部账户的总计等于各账户之和' },
  },
  daily_totals: {
    en: { title: 'Totals by day', says: 'The totals of each day are the sums of the accounts' },
    zh: { title: '每日总计', says: '每日总计等于各账户之和' },
  },
  live_balances: {
    en: { title: 'Balances in Redis', says: 'Each balance in Redis is what the ledger determines' },
    zh: { title: 'Redis 中的余额', says: 'Redis 中的每个余额与账本一致' },
  },
};

/** Lists the equalities that have words. */
export const WORDED_EQUALITIES: readonly string[] = Object.keys(EQUALITIES);

/** Returns undefined for an equality of a newer server. */
export function equalityOf(name: string, language: Language): Equality | undefined {
  return EQUALITIES[name]?.[language];
}
