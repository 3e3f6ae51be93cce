export const access = {
  signIn: 'Sign in',
  signInPurpose: 'Use the name and password of your Tollgate account.',
  username: 'Username',
  password: 'Password',
  noAccount: 'No account yet?',
  register: 'Register',
  registerTitle: 'Ask for an account',
  registerPurpose:
    'An administrator approves new accounts. Afterwards you can sign in with what you choose here.',
  usernameHelp: 'Letters, digits, dot, dash and underscore.',
  passwordHelp: 'At least 8 characters; a sentence is easy to remember.',
  haveAccount: 'Already registered?',
  registeredTitle: 'Your account waits for approval',
  registeredDetail: (name: string) =>
    `An administrator has to approve ${name}. This page notices when that happens and signs you in.`,
  registeredLive: 'Waiting for approval',
  approvedSoon: 'Keep this page open, or return later and sign in.',
  ended: 'Your session has ended. Sign in to continue where you were.',
  show: 'Show password',
  hide: 'Hide password',
  ownPassword: 'Set a password of your own',
  ownPasswordText:
    'You signed in with a one-time password. Set another; then everything else is open.',
  oneTimePassword: 'One-time password',
  passwordAgain: 'Your password again',
  passwordAgainText:
    'What makes administrators or tokens needs a password given within the last 15 minutes.',
  confirmPassword: 'Continue',
  goToSignIn: 'Go to sign-in',
};
