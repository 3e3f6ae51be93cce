import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { KeyOwners } from '../keys/key-owners.ts';
import { KeysService } from '../keys/keys.service.ts';
import { ModelsService } from '../models/models.service.ts';
import { PricingService } from '../models/pricing.service.ts';
import { countActive } from '../subscriptions/read-subscriptions.sql.ts';
import { statusAfter, type UserMove } from '../users/user-transitions.ts';
import { UsersService } from '../users/users.service.ts';
import type {
  BulkAct,
  BulkApplyBody,
  BulkBlock,
  BulkOutcome,
  BulkPlan,
  BulkPlanBody,
  BulkStep,
} from './bulk.dto.ts';
import { applySteps, planOf, refuseUnseen, stepOf } from './step.ts';

type Kind = 'user' | 'key' | 'model';

/** Describes one act: its kind of records, the rows of its plan, and the change of one row. */
interface Act {
  readonly kind: Kind;
  readonly plan: (caller: Caller, ids: readonly number[]) => Promise<readonly BulkStep[]>;
  readonly run: (caller: Caller, id: number) => Promise<unknown>;
}

/** Acts on many accounts, keys or models by the services of these features. */
@Injectable()
export class BulkRecords {
  private readonly acts: Readonly<Record<BulkAct, Act>> = {
    'users.approve': this.moving('approve', (caller, id) => this.users.approve(caller, id)),
    'users.reject': this.moving('reject', (caller, id) => this.users.reject(caller, id)),
    'users.freeze': this.moving('freeze', (caller, id) => this.users.freeze(caller, id, false)),
    'users.unfreeze': this.moving('unfreeze', (caller, id) => this.users.unfreeze(caller, id)),
    'keys.enable': this.turning('enabled', (caller, id) => this.keys.enable(caller, id)),
    'keys.disable': this.turning('disabled', (caller, id) => this.keys.disable(caller, id, false)),
    'keys.delete': this.turning('deleted', (caller, id) => this.keys.delete(caller, id, false)),
    'models.sell': this.shelving(true, (caller, id) => this.models.enable(caller, id)),
    'models.withdraw': this.shelving(false, (caller, id) => this.models.disable(caller, id)),
  };

  constructor(
    private readonly source: DataSource,
    private readonly users: UsersService,
    private readonly keys: KeysService,
    private readonly owners: KeyOwners,
    private readonly models: ModelsService,
    private readonly pricing: PricingService,
  ) {}

  async plan(caller: Caller, { act, ids }: BulkPlanBody): Promise<BulkPlan> {
    const { kind, plan } = this.acts[act];
    const found = new Map((await plan(caller, ids)).map((step) => [step.id, step]));
    return planOf(
      ids.map(
        (id) =>
          found.get(id) ??
          stepOf({ action: 'change', kind, id, name: String(id) }, { blocked_by: 'not_found' }),
      ),
    );
  }

  async apply(caller: Caller, { digest, ...body }: BulkApplyBody): Promise<BulkOutcome> {
    const plan = await this.plan(caller, body);
    refuseUnseen(plan, digest);
    const { run } = this.acts[body.act];
    return applySteps(plan.steps, ({ id }) => run(caller, Number(id)));
  }

  private moving(move: UserMove, run: Act['run']): Act {
    return {
      kind: 'user',
      run,
      plan: async (caller, ids) => {
        const rows = await this.users.findMany(ids);
        const keys = await this.owners.countEnabled(ids);
        return rows.map(({ id, username: name, status: from }) => {
          const to = statusAfter(move, from);
          return stepOf(
            { action: 'change', kind: 'user', id, name },
            {
              differences: [{ field: 'status', from, to: to ?? from }],
              keys: keys.get(id) ?? 0,
              blocked_by: blockOfMove(to, move === 'freeze' && id === caller.userId),
            },
          );
        });
      },
    };
  }

  private turning(to: 'enabled' | 'disabled' | 'deleted', run: Act['run']): Act {
    return {
      kind: 'key',
      run,
      plan: async (caller, ids) => {
        const rows = await this.keys.findVisible(caller, ids);
        return rows.map(({ response: { id, name, status: from } }) =>
          stepOf(
            { action: to === 'deleted' ? 'remove' : 'change', kind: 'key', id, name },
            {
              differences: [{ field: 'status', from, to }],
              blocked_by: from === to ? 'unchanged' : null,
            },
          ),
        );
      },
    };
  }

  private shelving(to: boolean, run: Act['run']): Act {
    return {
      kind: 'model',
      run,
      plan: async (_caller, ids) => {
        const rows = await this.models.findMany(ids);
        const prices = await this.pricing.pricesInForce(ids);
        const subscriptions = await countActive(this.source, ids);
        return rows.map(({ id, name, is_on_shelf: from }) =>
          stepOf(
            { action: 'change', kind: 'model', id, name },
            {
              differences: [{ field: 'is_on_shelf', from, to }],
              subscriptions: subscriptions.get(id) ?? 0,
              blocked_by: blockOfShelf({ from, to, isPriced: prices.has(id) }),
            },
          ),
        );
      },
    };
  }
}

function blockOfMove(to: string | undefined, isSelf: boolean): BulkBlock | null {
  if (isSelf) return 'cannot_change_self';
  return to === undefined ? 'invalid_transition' : null;
}

function blockOfShelf(shelf: { from: boolean; to: boolean; isPriced: boolean }): BulkBlock | null {
  if (shelf.from === shelf.to) return 'unchanged';
  return shelf.to && !shelf.isPriced ? 'model_not_priced' : null;
}
