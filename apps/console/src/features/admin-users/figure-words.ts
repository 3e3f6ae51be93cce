/** Holds the words of what accounts have and use, which load with the pages of accounts alone. */
export const FIGURE_WORDS = {
  en: {
    balance: 'Balance',
    spend: 'Spend, 30 days',
    lastUse: 'Last use',
    never: 'never',
    lastSeen: 'Last seen',
    events: 'Events',
    noEvents: 'Nothing has happened to this account yet',
  },
  zh: {
    balance: '余额',
    spend: '30 天消费',
    lastUse: '最近使用',
    never: '从未',
    lastSeen: '最近登录',
    events: '事件',
    noEvents: '此账户还没有事件',
  },
};
