import { Param, type PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { INTEGER_MAX } from '../database/integer-max.ts';
import { Refusal } from './refusal.ts';

/** An id that cannot exist is an unknown id and gets 404, not 400. */
const parseId: PipeTransform<string, number> = {
  transform(text) {
    const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
    if (id < 1 || id > INTEGER_MAX) throw new Refusal('not_found');
    return id;
  },
};

const parseUuid: PipeTransform<string, string> = {
  transform(text) {
    const uuid = z.guid().safeParse(text);
    if (!uuid.success) throw new Refusal('not_found');
    return uuid.data.toLowerCase();
  },
};

/** `@IdPath() id: number` reads the `:id` of a path. */
export const IdPath = () => Param('id', parseId);

/** Reads an id of a path, or 0. */
const parseIndex: PipeTransform<string, number> = {
  transform(text, metadata) {
    return text === '0' ? 0 : parseId.transform(text, metadata);
  },
};

/** `@IndexPath('credential_id') index: number` reads an id, or 0, of a path. */
export const IndexPath = (name: string) => Param(name, parseIndex);

/** `@UuidPath('sid') sid: string` reads a UUID of a path. */
export const UuidPath = (name: string) => Param(name, parseUuid);
