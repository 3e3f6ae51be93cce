import type { Page } from 'playwright-core';
import { zh } from '../../../apps/console/src/words/zh.ts';

/** Describes one form: the file that draws it, its page, and what one presses to open it. */
export interface WrongForm {
  file: string;
  path: (ids: Ids) => string;
  press: readonly string[];
  /** Names the table of which a row has the button that is pressed first. */
  table?: string;
}

/** Names the records whose pages have forms. */
export interface Ids {
  customer: number;
  key: number;
  model: number;
  upstream: number;
}

const { admin, budgets, general, keys, settings, subscription, wallet } = zh;
const form = (file: string, path: string | WrongForm['path'], ...press: string[]): WrongForm => ({
  file,
  path: typeof path === 'string' ? () => path : path,
  press,
});
const user = ({ customer }: Ids): string => `/admin/users/${customer}`;
const key = ({ key: id }: Ids): string => `/admin/keys/${id}`;
const model = ({ model: id }: Ids): string => `/admin/models/${id}`;
const upstream = ({ upstream: id }: Ids): string => `/admin/upstreams/${id}`;

export const ADMIN_FORMS: readonly WrongForm[] = [
  form('access/change-password-form.tsx', '/settings'),
  form('settings/create-token.tsx', '/settings', settings.createToken),
  form('admin-users/one-time-password.tsx', '/admin/users', admin.users.add),
  form('admin-users/ceilings.tsx', '/admin/users', admin.users.ceilings),
  form('admin-users/ceilings.tsx', user, general.more, admin.users.ceilings),
  form('admin-users/user-dialogs.tsx', user, admin.users.recharge),
  form('admin-users/user-dialogs.tsx', user, general.more, admin.users.adjust),
  form('admin-users/user-dialogs.tsx', user, general.more, admin.users.withdraw),
  form('admin-models/model-dialogs.tsx', '/admin/models', admin.models.add),
  form('admin-models/model-dialogs.tsx', model, general.more, admin.models.edit),
  form('admin-models/set-price.tsx', model, admin.models.newPrice),
  form('admin-nodes/add-node.tsx', '/admin/nodes', admin.nodes.add),
  form('admin-upstreams/upstream-form.tsx', '/admin/upstreams', admin.upstreams.add),
  form('admin-upstreams/upstream-form.tsx', upstream, general.more, admin.upstreams.edit),
  form('admin-upstreams/upstream-dialogs.tsx', upstream, general.more, admin.upstreams.rotateKey),
  form('admin-routing/route-dialog.tsx', '/admin/routing', admin.routing.add),
  form('budgets/budget-dialogs.tsx', key, budgets.create),
  {
    ...form('budgets/budget-dialogs.tsx', key, general.more, budgets.acts.edit),
    table: budgets.title,
  },
  {
    ...form('budgets/budget-dialogs.tsx', key, general.more, budgets.acts.grant),
    table: budgets.title,
  },
  form('keys/create-key.tsx', ({ customer }) => `/admin/users/${customer}?tab=keys`, keys.create),
  form('keys/key-dialogs.tsx', key, keys.edit),
];

/** Lists the forms of those who are not signed in. */
export const GUEST_FORMS: readonly WrongForm[] = [form('access/register-page.tsx', '/register')];

/** Lists the forms of a customer. */
export const CUSTOMER_FORMS: readonly WrongForm[] = [
  form('wallet/recharge-dialog.tsx', '/wallet', wallet.recharge),
  form('subscription/auto-recharge.tsx', ({ model: id }) => `/models/${id}`, subscription.autoSet),
];

const OF_MOMENT =
  'needs what only a running or a failed request leaves; it has one field, a reason';
const NO_FIELD = 'has no field that can be wrong';

/** Gives the reason why a form is not sent wrong. */
export const NOT_SENT: Readonly<Record<string, string>> = {
  'access/login-page.tsx': 'says of no field what is wrong with it',
  'access/password-dialog.tsx': '`given-again` sends it wrong',
  'admin-upstreams/credential-dialogs.tsx': 'is not sent wrong yet: it came with the credentials',
  'admin-books/dead-letters.tsx': OF_MOMENT,
  'usage/running-panel.tsx': OF_MOMENT,
  'admin-upstreams/add-models.tsx': 'the review of its plan says what is wrong',
  'admin-models/change-prices.tsx': 'its button says what is wrong; the server says it of a row',
  'bulk/review-dialog.tsx': NO_FIELD,
  'subscription/unsubscribe.tsx': NO_FIELD,
  'keys/rotate-key.tsx': NO_FIELD,
  'market/buy-dialog.tsx': 'its button says what is wrong, and cannot be pressed',
  'playground/composer.tsx': NO_FIELD,
};

/** Presses what opens a form, and returns it. */
export async function openForm(page: Page, { press, table }: WrongForm) {
  for (const [index, name] of press.entries()) {
    const place =
      index === 0 && table !== undefined ? page.getByRole('table', { name: table }) : page;
    const named = place
      .getByRole('button', { name, exact: true })
      .or(place.getByRole('menuitem', { name, exact: true }));
    await named.last().click();
  }
  const found =
    press.length === 0 ? page.locator('form') : page.locator('[role=dialog]:not([data-type]) form');
  await found.first().waitFor();
  return found.first();
}

type Form = Awaited<ReturnType<typeof openForm>>;

/** Describes what the functions below need of the page, whose types are not known here. */
interface FormInPage {
  querySelectorAll: (selector: string) => Iterable<FieldInPage>;
  requestSubmit: () => void;
}
interface FieldInPage {
  open: boolean;
  disabled: boolean;
  readOnly: boolean;
  inputMode: string;
  type: string;
  removeAttribute: (name: string) => void;
  setAttribute: (name: string, value: string) => void;
}

const unfold = (form: FormInPage): void => {
  for (const details of form.querySelectorAll('details')) details.open = true;
};
/** Sends the form past the checks of the browser. It does so at once: the page gives a field its type back whenever it draws it. */
const sendUnchecked = (form: FormInPage): void => {
  for (const field of form.querySelectorAll('input, textarea'))
    for (const check of ['pattern', 'min', 'max', 'minlength', 'maxlength', 'required'])
      field.removeAttribute(check);
  for (const field of form.querySelectorAll('[type=number], [type=url]'))
    field.setAttribute('type', 'text');
  form.requestSubmit();
};
const kindOf = ({ disabled, readOnly, inputMode, type }: FieldInPage): string =>
  disabled || readOnly ? 'fixed' : inputMode || type;

/** Enters what no field takes, and sends it: to the console's own checks, or without them to the server. */
export async function sendWrong(of: Form, to: 'console' | 'server'): Promise<void> {
  await of.evaluate(unfold);
  for (const field of await of.locator('input, textarea').all()) {
    const kind = await field.evaluate(kindOf);
    const wrong = WRONG[kind];
    if (wrong !== undefined && (await field.isVisible())) await field.fill(wrong);
  }
  if (to === 'server') await of.evaluate(sendUnchecked);
  else await of.locator('[data-actions] button').first().click();
}

/** Holds a wrong value by kind of input; others keep what they have. The text has a mark that reverses what follows. */
const WRONG: Readonly<Record<string, string>> = {
  text: 'x\u202ey',
  textarea: 'x\u202ey',
  url: 'x\u202ey',
  password: '密',
  numeric: '-7',
  number: '-7',
  decimal: '十',
};

/** Returns what the form says is wrong: at fields, and above its buttons. */
export async function faultsOf(of: Form): Promise<{ fields: string[]; whole: string[] }> {
  await of.locator('.text-bad').first().waitFor();
  return {
    whole: await of.locator('[role=alert]').allInnerTexts(),
    fields: await of.locator('.text-bad:not([role=alert] *)').allInnerTexts(),
  };
}
