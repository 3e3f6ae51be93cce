import { formatCount } from '../../ui/format.ts';
import { countOf } from '../../words/plural.ts';
import type { Speech } from '../../words/words.ts';

/** Holds the words of acts on many records, which load with the lists that offer them. */
export const BULK_WORDS = {
  en: {
    choose: (name: string) => `Choose ${name}`,
    chosen: (count: string) => `${count} chosen`,
    tooMany: (count: string) => `At most ${count} at once`,
    chooseShown: 'Choose all shown',
    clear: 'Choose none',
    acts: {
      'users.approve': 'Approve',
      'users.reject': 'Reject',
      'users.freeze': 'Freeze',
      'users.unfreeze': 'Unfreeze',
      'keys.enable': 'Enable',
      'keys.disable': 'Disable',
      'keys.delete': 'Delete',
      'models.sell': 'Put up for sale',
      'models.withdraw': 'Take off the market',
    },
    review: 'Review the changes',
    reviewText: 'Nothing has changed yet.',
    action: { add: 'Add', change: 'Change', remove: 'Delete' },
    kind: { user: 'Account', key: 'Key', model: 'Model', route: 'Route' },
    what: 'What',
    changes: 'Changes',
    keys: (count: string) => countOf(count, 'enabled key'),
    subscriptions: (count: string) => countOf(count, 'open subscription'),
    blocks: {
      not_found: 'Left out: it does not exist',
      unchanged: 'Left out: it is so already',
      invalid_transition: 'Left out: its state does not allow it',
      cannot_change_self: 'Left out: it is your own account',
      model_not_priced: 'Left out: it has no price',
      invalid_name: 'Left out: clients cannot send this name',
      no_embeddings: 'Left out: the protocol has no embeddings',
    },
    apply: (count: string) => `Apply ${countOf(count, 'change')}`,
    nothing: 'Nothing would change',
    applied: (count: string) => `${countOf(count, 'change')} applied`,
    failed: (count: string) => `${countOf(count, 'row')} failed`,
  },
  zh: {
    choose: (name: string) => `选择 ${name}`,
    chosen: (count: string) => `已选择 ${count} 项`,
    tooMany: (count: string) => `一次最多 ${count} 项`,
    chooseShown: '选择所有显示的项',
    clear: '取消选择',
    acts: {
      'users.approve': '批准',
      'users.reject': '拒绝',
      'users.freeze': '冻结',
      'users.unfreeze': '解冻',
      'keys.enable': '启用',
      'keys.disable': '停用',
      'keys.delete': '删除',
      'models.sell': '上架',
      'models.withdraw': '下架',
    },
    review: '检查更改',
    reviewText: '尚未做任何更改。',
    action: { add: '添加', change: '更改', remove: '删除' },
    kind: { user: '账户', key: '密钥', model: '模型', route: '路由' },
    what: '对象',
    changes: '更改',
    keys: (count: string) => `${count} 个已启用的密钥`,
    subscriptions: (count: string) => `${count} 个有效订阅`,
    blocks: {
      not_found: '跳过：不存在',
      unchanged: '跳过：已是如此',
      invalid_transition: '跳过：当前状态不允许',
      cannot_change_self: '跳过：这是您自己的账户',
      model_not_priced: '跳过：没有价格',
      invalid_name: '跳过：客户端无法发送此名称',
      no_embeddings: '跳过：该协议不支持嵌入',
    },
    apply: (count: string) => `应用 ${count} 项更改`,
    nothing: '没有可应用的更改',
    applied: (count: string) => `已应用 ${count} 项更改`,
    failed: (count: string) => `${count} 项失败`,
  },
};

/** Limits the rows of one plan, as the interface does. */
const ROWS_MAX = 500;

/** Returns why so many rows cannot be planned at once; undefined where they can. */
export function tooManyRows(
  rows: number,
  { language, locale }: Pick<Speech, 'language' | 'locale'>,
): string | undefined {
  return rows > ROWS_MAX ? BULK_WORDS[language].tooMany(formatCount(ROWS_MAX, locale)) : undefined;
}
