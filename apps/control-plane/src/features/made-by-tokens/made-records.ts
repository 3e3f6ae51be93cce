import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/caller.ts';
import { KeysService } from '../keys/keys.service.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import { UpstreamsService } from '../upstreams/upstreams.service.ts';
import { UsersService } from '../users/users.service.ts';
import type { Made, MadeKind } from './made-by-tokens.dto.ts';

type Found = Pick<Made, 'id' | 'name' | 'state'> & { has_one_time_password?: boolean };

interface RecordKind {
  /** Returns those of the records that are not deleted. */
  find: (caller: Caller, ids: readonly number[]) => Promise<Found[]>;
  disable: (caller: Caller, id: number) => Promise<unknown>;
  /** Is true when only administrators may disable it. */
  isOfAdministrators: boolean;
}

/** Finds and disables each kind of record that a token can create. */
@Injectable()
export class MadeRecords {
  readonly kinds: Readonly<Record<MadeKind, RecordKind>>;

  constructor(
    users: UsersService,
    keys: KeysService,
    upstreams: UpstreamsService,
    nodes: ProxyNodesService,
  ) {
    this.kinds = {
      user: {
        find: async (_, ids) =>
          (await users.findMany(ids)).map(({ id, username, status, hasOneTimePassword }) => ({
            id,
            name: username,
            state: stateOf(status === 'active'),
            has_one_time_password: hasOneTimePassword,
          })),
        disable: (caller, id) => users.freeze(caller, id, false),
        isOfAdministrators: true,
      },
      key: keyKind(keys),
      upstream: {
        find: async (_, ids) =>
          (await upstreams.findMany(ids)).map(({ id, name, enabled }) => ({
            id,
            name,
            state: stateOf(enabled),
          })),
        disable: (caller, id) => upstreams.update(caller, id, { enabled: false }),
        isOfAdministrators: true,
      },
      node: nodeKind(nodes),
    };
  }
}

function keyKind(keys: KeysService): RecordKind {
  return {
    find: async (caller, ids) =>
      (await keys.findVisible(caller, ids)).map(({ response: { id, name, status } }) => ({
        id,
        name,
        state: stateOf(status === 'enabled'),
      })),
    disable: (caller, id) => keys.disable(caller, id, false),
    isOfAdministrators: false,
  };
}

function nodeKind(nodes: ProxyNodesService): RecordKind {
  return {
    // The credential of a disabled node still signs usage; only removal ends it.
    find: async (_, ids) =>
      (await nodes.findMany(ids)).map(({ id, name }) => ({ id, name, state: 'active' })),
    disable: (caller, id) => nodes.delete(caller, id),
    isOfAdministrators: true,
  };
}

function stateOf(isActive: boolean): 'active' | 'disabled' {
  return isActive ? 'active' : 'disabled';
}
