export const ALERT_RULES = [
  {
    "name": "node_offline",
    "severity": "warning"
  },
  {
    "name": "node_refuses_snapshot",
    "severity": "critical"
  },
  {
    "name": "node_misconfigured",
    "severity": "critical"
  },
  {
    "name": "node_clock",
    "severity": "warning"
  },
  {
    "name": "bad_node_proof",
    "severity": "critical"
  },
  {
    "name": "snapshot_pinned",
    "severity": "info"
  },
  {
    "name": "publication_failed",
    "severity": "critical"
  },
  {
    "name": "upstream_failing",
    "severity": "warning"
  },
  {
    "name": "upstream_overruns",
    "severity": "warning"
  },
  {
    "name": "usage_doubted",
    "severity": "warning"
  },
  {
    "name": "prompt_excess",
    "severity": "warning"
  },
  {
    "name": "settlement_backlog",
    "severity": "warning"
  },
  {
    "name": "partitions_late",
    "severity": "warning"
  },
  {
    "name": "journal_set_aside",
    "severity": "critical"
  },
  {
    "name": "dead_letter",
    "severity": "critical"
  },
  {
    "name": "drift",
    "severity": "critical"
  },
  {
    "name": "redis_tampered",
    "severity": "critical"
  },
  {
    "name": "redis_data_lost",
    "severity": "critical"
  },
  {
    "name": "restore_open",
    "severity": "critical"
  },
  {
    "name": "overdraft",
    "severity": "warning"
  },
  {
    "name": "budget_threshold",
    "severity": "info"
  },
  {
    "name": "budget_exhausted",
    "severity": "warning"
  },
  {
    "name": "budget_shared",
    "severity": "warning"
  },
  {
    "name": "low_balance",
    "severity": "info"
  },
  {
    "name": "auto_recharge_failed",
    "severity": "warning"
  },
  {
    "name": "payout_unsettled",
    "severity": "warning"
  }
] as const;

export const CHARGED_CLASSES = [
  {
    "name": "input",
    "field": "input_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": null,
    "is_optional": false
  },
  {
    "name": "cache_read",
    "field": "cache_read_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": null,
    "is_optional": false
  },
  {
    "name": "cache_write",
    "field": "cache_write_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": null,
    "is_optional": false
  },
  {
    "name": "output",
    "field": "output_tokens",
    "unit": "token",
    "side": "output",
    "parent": null,
    "is_optional": false
  },
  {
    "name": "cache_write_1h",
    "field": "cache_write_1h_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": "cache_write",
    "is_optional": true
  },
  {
    "name": "audio_input",
    "field": "audio_input_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": "input",
    "is_optional": true
  },
  {
    "name": "audio_output",
    "field": "audio_output_tokens",
    "unit": "token",
    "side": "output",
    "parent": "output",
    "is_optional": true
  },
  {
    "name": "image_input",
    "field": "image_input_tokens",
    "unit": "token",
    "side": "prompt",
    "parent": "input",
    "is_optional": true
  },
  {
    "name": "image_output",
    "field": "image_output_tokens",
    "unit": "token",
    "side": "output",
    "parent": "output",
    "is_optional": true
  },
  {
    "name": "searches",
    "field": "searches",
    "unit": "call",
    "side": "prompt",
    "parent": null,
    "is_optional": true
  }
] as const;

export const CLIENT_PROTOCOLS = [
  "chat",
  "messages",
  "embeddings",
  "responses",
  "completions",
  "generate",
  "embed"
] as const;

export const FURTHER_ENDPOINTS = [
  "responses",
  "completions",
  "threads"
] as const;

export const KEY_LIMITS = [
  {
    "name": "rpm"
  },
  {
    "name": "rph"
  },
  {
    "name": "rpd"
  },
  {
    "name": "tpm"
  },
  {
    "name": "tph"
  },
  {
    "name": "tpd"
  },
  {
    "name": "concurrency"
  },
  {
    "name": "max_input_tokens"
  },
  {
    "name": "max_output_tokens"
  }
] as const;

export const OUTCOMES = [
  {
    "name": "completed",
    "is_failure": false
  },
  {
    "name": "client_closed",
    "is_failure": false
  },
  {
    "name": "upstream_failed",
    "is_failure": true
  },
  {
    "name": "upstream_interrupted",
    "is_failure": true
  },
  {
    "name": "balance_exhausted",
    "is_failure": false
  },
  {
    "name": "access_revoked",
    "is_failure": false
  },
  {
    "name": "node_stopped",
    "is_failure": true
  },
  {
    "name": "node_lost",
    "is_failure": true
  }
] as const;

export const RATE_WINDOWS = [
  {
    "name": "rpm",
    "seconds": 60,
    "counts": "requests"
  },
  {
    "name": "rph",
    "seconds": 3600,
    "counts": "requests"
  },
  {
    "name": "rpd",
    "seconds": 86400,
    "counts": "requests"
  },
  {
    "name": "tpm",
    "seconds": 60,
    "counts": "tokens"
  },
  {
    "name": "tph",
    "seconds": 3600,
    "counts": "tokens"
  },
  {
    "name": "tpd",
    "seconds": 86400,
    "counts": "tokens"
  }
] as const;

export const UPSTREAM_PROTOCOLS = [
  "openai",
  "anthropic",
  "azure",
  "gemini",
  "vertex",
  "bedrock"
] as const;

export const ERROR_CODES = [
  {
    "name": "invalid_request",
    "status": 400
  },
  {
    "name": "malformed_json",
    "status": 400
  },
  {
    "name": "invalid_cursor",
    "status": 400
  },
  {
    "name": "not_found",
    "status": 404
  },
  {
    "name": "method_not_allowed",
    "status": 405
  },
  {
    "name": "precondition_failed",
    "status": 412
  },
  {
    "name": "body_too_large",
    "status": 413
  },
  {
    "name": "unsupported_media_type",
    "status": 415
  },
  {
    "name": "rate_limited",
    "status": 429
  },
  {
    "name": "too_many_streams",
    "status": 429
  },
  {
    "name": "service_unavailable",
    "status": 503
  },
  {
    "name": "internal_error",
    "status": 500
  },
  {
    "name": "unauthenticated",
    "status": 401
  },
  {
    "name": "invalid_credentials",
    "status": 401
  },
  {
    "name": "account_pending",
    "status": 403
  },
  {
    "name": "account_rejected",
    "status": 403
  },
  {
    "name": "account_frozen",
    "status": 403
  },
  {
    "name": "forbidden",
    "status": 403
  },
  {
    "name": "password_change_needed",
    "status": 403
  },
  {
    "name": "token_scope",
    "status": 403
  },
  {
    "name": "session_needed",
    "status": 403
  },
  {
    "name": "password_needed",
    "status": 403
  },
  {
    "name": "origin_not_allowed",
    "status": 403
  },
  {
    "name": "wrong_password",
    "status": 403
  },
  {
    "name": "limit_reached",
    "status": 409
  },
  {
    "name": "registration_limit",
    "status": 429
  },
  {
    "name": "username_taken",
    "status": 409
  },
  {
    "name": "invalid_transition",
    "status": 409
  },
  {
    "name": "cannot_change_self",
    "status": 409
  },
  {
    "name": "last_administrator",
    "status": 409
  },
  {
    "name": "name_not_confirmed",
    "status": 409
  },
  {
    "name": "account_not_empty",
    "status": 409
  },
  {
    "name": "insufficient_funds",
    "status": 402
  },
  {
    "name": "payment_provider_failed",
    "status": 503
  },
  {
    "name": "payment_mismatch",
    "status": 400
  },
  {
    "name": "invalid_signature",
    "status": 400
  },
  {
    "name": "payments_not_configured",
    "status": 409
  },
  {
    "name": "payout_limit",
    "status": 409
  },
  {
    "name": "correction_limit",
    "status": 409
  },
  {
    "name": "balance_limit",
    "status": 409
  },
  {
    "name": "idempotency_in_progress",
    "status": 409
  },
  {
    "name": "idempotency_key_reused",
    "status": 422
  },
  {
    "name": "dead_letter_resolved",
    "status": 409
  },
  {
    "name": "dead_letter_unsound",
    "status": 409
  },
  {
    "name": "model_name_taken",
    "status": 409
  },
  {
    "name": "model_has_subscribers",
    "status": 409
  },
  {
    "name": "model_not_priced",
    "status": 409
  },
  {
    "name": "free_tokens_limit",
    "status": 409
  },
  {
    "name": "model_off_shelf",
    "status": 409
  },
  {
    "name": "already_subscribed",
    "status": 409
  },
  {
    "name": "not_subscribed",
    "status": 404
  },
  {
    "name": "temporary_key",
    "status": 409
  },
  {
    "name": "subscription_closing",
    "status": 409
  },
  {
    "name": "token_limit",
    "status": 409
  },
  {
    "name": "query_too_large",
    "status": 400
  },
  {
    "name": "statistics_range",
    "status": 400
  },
  {
    "name": "upstream_name_taken",
    "status": 409
  },
  {
    "name": "credential_name_taken",
    "status": 409
  },
  {
    "name": "route_exists",
    "status": 409
  },
  {
    "name": "upstream_in_use",
    "status": 409
  },
  {
    "name": "snapshot_unreadable",
    "status": 409
  },
  {
    "name": "node_name_taken",
    "status": 409
  }
] as const;

export const FIELD_FAULTS = [
  "required",
  "unknown_field",
  "unknown_parameter",
  "unstorable",
  "too_short",
  "too_long",
  "too_few",
  "too_many",
  "too_small",
  "not_above",
  "too_large",
  "not_below",
  "wrong_type",
  "wrong_format",
  "not_one_of",
  "rule",
  "refused"
] as const;
