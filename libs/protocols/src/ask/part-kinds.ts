import { isRecord, record } from '../json/json-guard.ts';

/** Lists part types whose payload is not text and whose tokens the request does not bound. */
export const UNBOUNDED_PARTS = new Set([
  'audio_url',
  'container_upload',
  'document',
  'document_url',
  'file',
  'input_file',
  'input_video',
  'item_reference',
  'media',
  'video',
  'video_url',
]);
export const IMAGE_PARTS = new Set(['computer_screenshot', 'image', 'image_url', 'input_image']);
export const AUDIO_PARTS = new Set(['audio', 'input_audio']);
/** Matches part types whose tokens are in them as text, addresses included. */
export const TEXT_PART =
  /^(?:compaction|input_text|output_text|reasoning|redacted_thinking|refusal|\w+_text|text|thinking|tool_\w+|\w+_(?:call|output|result|use))$/;

const PLAIN_TEXT = /^(?:\w+_)?text$/;
/** Lists members of a part that hold other data than text; some servers (vLLM) read them whatever the type is. */
const MEDIA_MEMBERS = [
  'audio_url',
  'document_url',
  'file',
  'file_url',
  'image_url',
  'input_audio',
  'video_url',
];

/** Returns whether a text part also names media. */
export function hasMedia(type: string, part: unknown): boolean {
  const members = record(part);
  return PLAIN_TEXT.test(type) && MEDIA_MEMBERS.some((name) => (members[name] ?? null) !== null);
}

const URL_START = /^\s*(?:https?|gs|s3|data|file):/i;
/** References in a part are searched down to this depth of nesting; real parts are shallower. */
const REFERENCE_DEPTH_MAX = 4;

/** Returns whether a part of an unknown kind names input outside the request: by an address, or by a file's id. */
export function refersElsewhere(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return URL_START.test(value);
  if (depth >= REFERENCE_DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.some((item) => refersElsewhere(item, depth + 1));
  if (!isRecord(value)) return false;
  return Object.entries(value).some(
    ([key, item]) => key === 'file_id' || refersElsewhere(item, depth + 1),
  );
}
