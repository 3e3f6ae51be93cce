import { WINDOW_NAMES, type KeyLimits } from '@tollgate/contracts';
import { Injectable } from '@nestjs/common';
import { KeyWindows } from '@tollgate/keyspace';
import type { Caller } from '../../platform/access/caller.ts';
import type { KeyWindowsResponse } from './keys.dto.ts';
import { CeilingsService } from '../ceilings/ceilings.service.ts';
import { KeysService, type FoundKey } from './keys.service.ts';

@Injectable()
export class KeyWindowsService {
  constructor(
    private readonly keys: KeysService,
    private readonly windows: KeyWindows,
    private readonly ceilings: CeilingsService,
  ) {}

  /** Throws service_unavailable while Redis does not answer. */
  async read(caller: Caller, id: number): Promise<KeyWindowsResponse> {
    const key = await this.keys.find(caller, id);
    return this.fillOf(key, await this.ceilings.inForce([id]));
  }

  /** Returns the windows of the keys that the caller may see, in no particular order. */
  async readMany(caller: Caller, ids: readonly number[]): Promise<KeyWindowsResponse[]> {
    const keys = await this.keys.findVisible(caller, ids);
    const limits = await this.ceilings.inForce(ids);
    return Promise.all(keys.map((key) => this.fillOf(key, limits)));
  }

  /** Returns the windows of a key, of its rates and of its account, and the number of its running requests. */
  private async fillOf(
    { response, keyHash }: FoundKey,
    inForce: ReadonlyMap<number, KeyLimits>,
  ): Promise<KeyWindowsResponse> {
    const limits = inForce.get(response.id) ?? response;
    const named = WINDOW_NAMES.map((window) => ({ window, limit: limits[window], models: '' }));
    const own = [...named, ...response.rates];
    const shared = await this.ceilings.ratesOf(response.user_id);
    const accountId = response.user_id;
    const fills = [
      ...(await this.windows.read({ accountId, keyHash }, own)),
      ...(await this.windows.read({ accountId }, shared)),
    ];
    const asOfMs = Date.now();
    const windows = [...own, ...shared].map(({ window, limit, models }, at) => ({
      window,
      models,
      of: at < own.length ? ('key' as const) : ('account' as const),
      ...filled({ limit, ...(fills[at] ?? { used: 0, resetMs: 0 }) }, asOfMs),
    }));
    const running = limits.concurrency > 0 ? await this.windows.running({ accountId, keyHash }) : 0;
    const concurrency = filled({ limit: limits.concurrency, used: running, resetMs: null }, asOfMs);
    return {
      key_id: response.id,
      as_of: new Date(asOfMs).toISOString(),
      windows: [...windows, { window: 'concurrency', models: '', of: 'key', ...concurrency }],
    };
  }
}

/** Returns a limit with its use; without a limit nothing is counted. */
function filled(
  { limit, used, resetMs }: { limit: number; used: number; resetMs: number | null },
  asOfMs: number,
) {
  const isSpent = limit > 0 && used > 0 && resetMs !== null;
  return {
    limit,
    used: limit > 0 ? used : 0,
    remaining: limit > 0 ? Math.max(0, limit - used) : null,
    resets_at: isSpent ? new Date(asOfMs + resetMs).toISOString() : null,
  };
}
