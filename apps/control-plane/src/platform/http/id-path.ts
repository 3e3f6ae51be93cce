import { Param, type PipeTransform } from '@nestjs/common';
import { Refusal } from './refusal.ts';

const ID_MAX = 2_147_483_647;

/** An id that cannot exist is an unknown id: 404, not 400. */
const parseId: PipeTransform<string, number> = {
  transform(text) {
    const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
    if (id < 1 || id > ID_MAX) throw new Refusal('not_found');
    return id;
  },
};

/** `@IdPath() id: number`: the `:id` of a path. */
export const IdPath = () => Param('id', parseId);
