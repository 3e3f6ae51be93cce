import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Names the folders of the console's forms, by the operation of the API document that they send. */
export const FORMS: Readonly<Record<string, readonly string[]>> = {
  Users_create: ['admin-users'],
  Users_update: ['admin-users'],
  Users_erase: ['admin-users'],
  Auth_login: ['access'],
  Auth_register: ['access'],
  Auth_password: ['access', 'settings'],
  Auth_confirmPassword: ['access'],
  AccessTokens_create: ['settings'],
  Ceilings_update: ['admin-users'],
  Wallet_adjust: ['admin-users'],
  Wallet_adminRecharge: ['admin-users'],
  Payments_recharge: ['wallet'],
  Payments_withdraw: ['admin-users'],
  Subscriptions_subscribe: ['market', 'subscription'],
  Subscriptions_renew: ['market', 'subscription'],
  Subscriptions_unsubscribe: ['subscription'],
  Subscriptions_setAutoRecharge: ['subscription'],
  Models_create: ['admin-models'],
  Models_setPrice: ['admin-models'],
  Models_update: ['admin-models'],
  ProxyNodes_create: ['admin-nodes'],
  ProxyNodes_update: ['admin-nodes'],
  Upstreams_create: ['admin-upstreams'],
  Upstreams_update: ['admin-upstreams'],
  Upstreams_test: ['admin-upstreams'],
  Upstreams_addCredential: ['admin-upstreams'],
  Upstreams_updateCredential: ['admin-upstreams'],
  DeadLetters_book: ['admin-books'],
  DeadLetters_dismiss: ['admin-books'],
  Routing_create: ['admin-routing'],
  Routing_update: ['admin-routing'],
  Budgets_create: ['budgets'],
  Budgets_update: ['budgets'],
  Budgets_grant: ['budgets'],
  Budgets_reset: ['budgets'],
  Keys_create: ['keys'],
  Keys_update: ['keys'],
  Keys_rotate: ['keys'],
  Running_end: ['usage'],
};

const BY_PAGE = 'the page is about one object, whose id it sends';
const BY_BUTTON = 'a button sets it';
const BY_FILE = 'rarely set: the command line or the API sets it';

/** Gives the reason why a writable field has no field in a form, by operation and field, or by field. */
export const WITHOUT_FIELD: Readonly<Record<string, string>> = {
  user_id: BY_PAGE,
  'Subscriptions_subscribe.model_id': BY_PAGE,
  'Subscriptions_renew.model_id': BY_PAGE,
  'Subscriptions_unsubscribe.model_id': BY_PAGE,
  'Subscriptions_setAutoRecharge.model_id': BY_PAGE,
  'Models_setPrice.model_id': BY_PAGE,
  'Models_setPrice.replaces': 'the form sends the version that it showed',
  'Models_setPrice.multipliers': BY_FILE,
  'Models_create.failover': 'forms have its members continues and names_upstream',
  'Models_update.failover': 'forms have its members continues and names_upstream',
  'Models_create.price': 'the form has the fields of a price',
  is_demo: 'marks accounts that `npm run seed` makes',
  'Subscriptions_subscribe.auto_recharge_threshold': 'the page of the subscription sets it',
  'Subscriptions_subscribe.auto_recharge_amount': 'the page of the subscription sets it',
  'ProxyNodes_create.url': BY_FILE,
  'ProxyNodes_update.url': BY_FILE,
  'Upstreams_create.enabled': BY_BUTTON,
  'Upstreams_update.enabled': BY_BUTTON,
  'Upstreams_test.kind':
    'a named model is tested as chat, the first route by the kind of its model',
  'Routing_create.enabled': BY_BUTTON,
  'Routing_update.enabled': BY_BUTTON,
  'DeadLetters_book.fields': 'corrections of a payload are made by `tollgate dead-letters book`',
  'DeadLetters_book.although_day_was_dropped':
    'corrections are made by `tollgate dead-letters book`',
  'Budgets_create.of': 'the field scope offers purchases beside whom the budget counts',
  'Keys_rotate.overlap_minutes': 'the field overlap offers a choice of durations',
  'Upstreams_create.auth': 'the forms have its members',
  'Upstreams_update.auth': 'the forms have its members',
  'Upstreams_addCredential.auth': 'the forms have its members',
  'Upstreams_updateCredential.auth': 'the forms have its members',
  'Upstreams_addCredential.enabled': BY_BUTTON,
  'Upstreams_updateCredential.enabled': BY_BUTTON,
  'Upstreams_test.credential_id': 'the row of the credential sends it',
};

/** Lists operations whose bodies no form sends. */
export const WITHOUT_FORM: Readonly<Record<string, string>> = {
  Auth_logout: BY_BUTTON,
  ProxyNodes_toggle: BY_BUTTON,
  MadeByTokens_disable: BY_BUTTON,
  Bulk_plan: 'a bar above a list sends what is chosen in it',
  Bulk_apply: 'the review of a plan sends what it showed',
  Bulk_planModels: "the list of a provider's models has the fields of its rows",
  Bulk_applyModels: 'the review of a plan sends what it showed',
  Playground_create: 'the playground sends it when it opens',
  Models_importFamilies: 'a table of hundreds of rows: `tollgate models import-families`',
};

const NAME = /\bname(?:=|: )['"]([a-z][a-z0-9_]*)['"]/g;

/** Returns true for what forms draw from a table: weights of token classes, limits and their ceilings. */
export function isDrawn(field: string, limits: readonly string[]): boolean {
  return field.startsWith('weight_') || limits.includes(field.replace(/_ceiling$/, ''));
}

/** Returns the names of the form fields in the folders of the console's features. */
export function namesIn(featuresFolder: string, folders: readonly string[]): Set<string> {
  const texts = folders.flatMap((folder) =>
    readdirSync(path.join(featuresFolder, folder))
      .filter((file) => file.endsWith('.tsx'))
      .map((file) => readFileSync(path.join(featuresFolder, folder, file), 'utf8')),
  );
  return new Set(texts.flatMap((text) => [...text.matchAll(NAME)].map(([, name = '']) => name)));
}
