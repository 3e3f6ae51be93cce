import type { Language } from '../../words/words.ts';

/** Holds what the log records, by the action's name in the interface: English, Chinese. It loads with this page alone. */
const ACTIONS: Readonly<Record<string, readonly [en: string, zh: string]>> = {
  'access_token.create': ['Access token created', '创建访问令牌'],
  'access_token.revoke': ['Access token revoked', '撤销访问令牌'],
  'books.audit': ['Ledgers audited', '核对账目'],
  'ceilings.update': ['Ceilings changed', '更改限额上限'],
  'dead_letter.book': ['Dead letter booked', '死信已入账'],
  'dead_letter.dismiss': ['Dead letter dismissed', '忽略死信'],
  'epochs.refill': ['Redis filled again', '重新填充 Redis'],
  'fleet.publish': ['Configuration published', '发布配置'],
  'fleet.reload': ['Nodes reloaded', '重新加载节点'],
  'fleet.sync': ['Nodes synchronised', '同步节点'],
  'key.create': ['Key created', '创建密钥'],
  'key.create_temporary': ['Temporary key created', '创建临时密钥'],
  'key.delete': ['Key deleted', '删除密钥'],
  'key.disable': ['Key disabled', '停用密钥'],
  'key.enable': ['Key enabled', '启用密钥'],
  'key.rotate': ['Key rotated', '轮换密钥'],
  'key.update': ['Key changed', '更改密钥'],
  'model.create': ['Model created', '创建模型'],
  'model.delete': ['Model deleted', '删除模型'],
  'model.disable': ['Model taken off the shelf', '下架模型'],
  'model.enable': ['Model put on the shelf', '上架模型'],
  'model.families': ['Model families imported', '导入模型系列'],
  'model.price': ['Price set', '设置价格'],
  'model.update': ['Model changed', '更改模型'],
  'node.create': ['Node registered', '登记节点'],
  'node.delete': ['Node deleted', '删除节点'],
  'node.rotate_credential': ['Node credential rotated', '轮换节点凭据'],
  'node.start': ['Node started', '启动节点'],
  'node.stop': ['Node stopped', '停止节点'],
  'node.toggle': ['Node enabled or disabled', '启用或停用节点'],
  'node.update': ['Node changed', '更改节点'],
  'payment.failed': ['Payment failed', '付款失败'],
  'payment.paid': ['Payment received', '收到付款'],
  'payout.failed': ['Payout failed', '提现失败'],
  'payout.paid': ['Payout paid', '提现已支付'],
  'route.create': ['Route created', '创建路由'],
  'route.delete': ['Route deleted', '删除路由'],
  'route.update': ['Route changed', '更改路由'],
  'session.confirm': ['Password given again', '再次输入密码'],
  'session.end': ['Session ended', '结束会话'],
  'snapshot.rollback': ['Configuration rolled back', '回滚配置'],
  'snapshot.unpin': ['Publication resumed', '恢复发布'],
  'subscription.auto_recharge': ['Automatic recharge changed', '更改自动充值'],
  'subscription.close': ['Unsubscribed', '取消订阅'],
  'subscription.open': ['Subscribed', '订阅'],
  'request.end': ['Request ended', '结束请求'],
  'subscription.renew': ['Tokens bought', '购买 token'],
  'upstream.create': ['Upstream created', '创建上游'],
  'upstream.delete': ['Upstream deleted', '删除上游'],
  'upstream.credential_create': ['Credential added', '添加凭据'],
  'upstream.credential_delete': ['Credential deleted', '删除凭据'],
  'upstream.credential_update': ['Credential changed', '修改凭据'],
  'upstream.test': ['Upstream tested', '测试上游'],
  'upstream.update': ['Upstream changed', '更改上游'],
  'upstreams.reseal': ['Upstream keys sealed again', '重新加密上游密钥'],
  'user.approve': ['Account approved', '批准账户'],
  'user.bootstrap': ['First administrator created', '创建首位管理员'],
  'user.create': ['Account created', '创建账户'],
  'user.delete': ['Account deleted', '删除账户'],
  'user.ask-erasure': ['Erasure asked for', '请求清除个人数据'],
  'user.erase': ['Personal data erased', '清除个人数据'],
  'user.freeze': ['Account frozen', '冻结账户'],
  'user.password': ['Password changed', '更改密码'],
  'user.register': ['Account registered', '注册账户'],
  'user.reject': ['Account rejected', '拒绝账户'],
  'user.reset_password': ['Password reset', '重置密码'],
  'user.unfreeze': ['Account unfrozen', '解冻账户'],
  'user.update': ['Account changed', '更改账户'],
  'wallet.adjustment': ['Wallet adjusted', '调整钱包'],
  'wallet.admin_recharge': ['Wallet recharged by an administrator', '管理员充值'],
  'wallet.payout': ['Wallet paid out', '钱包提现'],
  'wallet.recharge': ['Wallet recharged', '钱包充值'],
};

/** Returns an action in words; its name where the log has actions that this page lacks. */
export function actionName(action: string, language: Language): string {
  return ACTIONS[action]?.[language === 'zh' ? 1 : 0] ?? action;
}

/** Every action there are words for, in the order of the words. */
export function actionsNamed(language: Language): { value: string; label: string }[] {
  return Object.keys(ACTIONS)
    .map((value) => ({ value, label: actionName(value, language) }))
    .toSorted((one, other) => one.label.localeCompare(other.label, language));
}
