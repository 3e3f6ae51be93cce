import type { en } from '../en.ts';

export const access: typeof en.access = {
  signIn: '登录',
  signInPurpose: '使用您的 Tollgate 账户名和密码。',
  username: '用户名',
  password: '密码',
  noAccount: '还没有账户?',
  register: '注册',
  registerTitle: '申请账户',
  registerPurpose: '新账户需由管理员批准。批准后即可使用在此设置的账户登录。',
  usernameHelp: '字母、数字、点、短横线和下划线。',
  passwordHelp: '至少 8 个字符;用一句话更容易记住。',
  haveAccount: '已经注册?',
  registeredTitle: '您的账户正在等待批准',
  registeredDetail: (name) => `管理员需要批准 ${name}。批准后本页会自动登录。`,
  registeredLive: '等待批准',
  approvedSoon: '请保持此页面打开,或稍后再来登录。',
  ended: '会话已结束。请登录以继续刚才的操作。',
  show: '显示密码',
  hide: '隐藏密码',
  goToSignIn: '前往登录',
};
