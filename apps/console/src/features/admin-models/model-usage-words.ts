import { countOf } from '../../words/plural.ts';
import type { Language } from '../../words/words.ts';

const en = {
  topUsers: 'Accounts that use it most',
  activeUsers: (count: string) => `of ${countOf(count, 'account')}`,
  worth: 'Revenue',
  subscribers: 'Subscribers',
  holds: (tokens: string) => `hold ${countOf(tokens, 'token')}`,
  noUsage: 'No request in this range',
  others: (count: string) => countOf(count, 'other account'),
};

/** Holds the words of one tab, which load with it alone. */
export const MODEL_USAGE_WORDS: Readonly<Record<Language, typeof en>> = {
  en,
  zh: {
    topUsers: '使用最多的账户',
    activeUsers: (count) => `来自 ${count} 个账户`,
    worth: '收入',
    subscribers: '订阅者',
    holds: (tokens) => `持有 ${tokens} 个 token`,
    noUsage: '此时段没有请求',
    others: (count) => `其他 ${count} 个账户`,
  },
};
