/**
 * Maps every refusal code of the administration interface to its status and public text. Features add their codes here, so that a code means one
 * thing everywhere. The text is for the caller; details for the operator go to the log.
 */
export const REFUSALS = {
  // The following refusals concern the request itself.
  invalid_request: { status: 400, title: 'The request is not valid' },
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_cursor: { status: 400, title: 'The cursor was not issued by this list' },
  not_found: { status: 404, title: 'The resource does not exist' },
  method_not_allowed: { status: 405, title: 'This path does not support this method' },
  precondition_failed: { status: 412, title: 'The record has changed since it was read' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  rate_limited: { status: 429, title: 'Too many attempts' },
  too_many_streams: { status: 429, title: 'Too many streams of events are open' },
  service_unavailable: { status: 503, title: 'A required service does not answer' },
  internal_error: { status: 500, title: 'The server failed to handle the request' },

  // The following refusals concern access.
  unauthenticated: { status: 401, title: 'A valid session or access token is required' },
  invalid_credentials: { status: 401, title: 'Unknown username or wrong password' },
  account_pending: { status: 403, title: 'The account is waiting for approval' },
  account_rejected: { status: 403, title: 'The account was rejected' },
  account_frozen: { status: 403, title: 'The account is frozen' },
  forbidden: { status: 403, title: 'This needs administrator rights' },
  password_change_needed: { status: 403, title: 'Set a password of your own first' },
  token_scope: { status: 403, title: 'The scope of this access token does not allow this' },
  session_needed: { status: 403, title: 'Access tokens cannot do this; sign in' },
  password_needed: { status: 403, title: 'Give the password of this session again first' },
  origin_not_allowed: { status: 403, title: 'This origin may not use the session cookie' },
  wrong_password: { status: 403, title: 'The current password is wrong' },
  limit_reached: {
    status: 409,
    title: 'The account has reached its limit for this kind of resource',
  },
  registration_limit: { status: 429, title: 'Too many registrations from this address' },

  // The following refusals concern users.
  username_taken: { status: 409, title: 'The username is taken' },
  invalid_transition: { status: 409, title: 'The current state does not allow this change' },
  cannot_change_self: {
    status: 409,
    title: 'Administrators cannot freeze, delete or demote their own account',
  },
  last_administrator: { status: 409, title: 'The last administrator cannot be removed' },
  name_not_confirmed: { status: 409, title: 'This is not the name of the account' },
  account_not_empty: { status: 409, title: 'The account still holds money or tokens' },

  // The following refusals concern money.
  insufficient_funds: { status: 402, title: 'The wallet balance is too low' },
  payment_provider_failed: { status: 503, title: 'The payment provider does not answer' },
  payment_mismatch: { status: 400, title: 'The paid amount differs from the requested amount' },
  invalid_signature: { status: 400, title: 'The signature of this notice is not valid' },
  payments_not_configured: { status: 409, title: 'No payment provider is configured' },
  payout_limit: { status: 409, title: 'The payment provider cannot pay back that much' },
  correction_limit: { status: 409, title: 'The amount exceeds the limit of one correction' },
  balance_limit: { status: 409, title: 'The balance would exceed what a wallet can hold' },
  idempotency_in_progress: {
    status: 409,
    title: 'A request with this Idempotency-Key is still in progress',
  },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used with another body' },

  // The following refusals concern usage.
  dead_letter_resolved: { status: 409, title: 'This dead letter is already resolved' },
  dead_letter_unsound: { status: 409, title: 'The event cannot be booked as it is' },

  // The following refusals concern models, subscriptions and keys.
  model_name_taken: { status: 409, title: 'Another model has this name' },
  model_has_subscribers: { status: 409, title: 'The model still has subscribers' },
  model_not_priced: {
    status: 409,
    title: 'The model has no price in force; set one, or declare it free',
  },
  free_tokens_limit: {
    status: 409,
    title: 'The account would hold more unspent free tokens than this installation gives away',
  },
  model_off_shelf: { status: 409, title: 'The model is off the shelf' },
  already_subscribed: {
    status: 409,
    title: 'The account is already subscribed to this model; renew it to buy more tokens',
  },
  not_subscribed: { status: 404, title: 'The account is not subscribed to this model' },
  temporary_key: {
    status: 409,
    title: 'A temporary key cannot be changed or rotated; create a key of its own, or delete it',
  },
  subscription_closing: {
    status: 409,
    title: 'The subscription is being closed; try again in a moment',
  },
  token_limit: {
    status: 409,
    title: 'The subscription would hold more tokens than can be counted exactly',
  },
  query_too_large: { status: 400, title: 'The question reads too many requests' },
  statistics_range: { status: 400, title: 'The period holds too many intervals' },

  // The following refusals concern routing and the fleet.
  upstream_name_taken: { status: 409, title: 'Another upstream has this name' },
  credential_name_taken: { status: 409, title: 'Another credential of the upstream has this name' },
  route_exists: {
    status: 409,
    title: 'Another route leads from this model to the same model of this upstream',
  },
  upstream_in_use: { status: 409, title: 'Routes still lead to this upstream' },
  snapshot_unreadable: { status: 409, title: 'This release cannot publish that snapshot' },
  node_name_taken: { status: 409, title: 'Another node has this name' },
} as const satisfies Record<string, RefusalRule>;

export interface RefusalRule {
  status: number;
  title: string;
}
export type RefusalCode = keyof typeof REFUSALS;
