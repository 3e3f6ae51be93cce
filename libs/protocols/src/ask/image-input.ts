import type { ImageInput } from '../exchange.ts';
import { nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { certainImageSize } from './image-size.ts';

export const DATA_URL = /^data:[^,]{0,128};base64,/;

/** Returns the base64 of an inline image; an empty text where the image is elsewhere. */
export function imageData(part: JsonRecord): string {
  const source = record(part['source']);
  if (source['type'] === 'base64') return text(source['data']) ?? '';
  const url = nonEmpty(part['image_url']) ?? nonEmpty(record(part['image_url'])['url']) ?? '';
  return DATA_URL.test(url) ? url.slice(url.indexOf(',') + 1) : '';
}

/** Returns the facts that bound the tokens of an image. */
export function imageInput(part: JsonRecord): ImageInput {
  const detail = record(part['image_url'])['detail'] ?? part['detail'];
  return {
    size: certainImageSize(imageData(part)),
    detail: detail === 'low' || detail === 'high' ? detail : null,
  };
}
