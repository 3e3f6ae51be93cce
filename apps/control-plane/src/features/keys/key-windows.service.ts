import type { KeyLimits } from '@tollgate/contracts';
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

  /** Returns the windows of the keys that the caller may see, in no order. */
  async readMany(caller: Caller, ids: readonly number[]): Promise<KeyWindowsResponse[]> {
    const keys = await this.keys.findVisible(caller, ids);
    const limits = await this.ceilings.inForce(ids);
    return Promise.all(keys.map((key) => this.fillOf(key, limits)));
  }

  private async fillOf(
    { response, keyHash }: FoundKey,
    inForce: ReadonlyMap<number, KeyLimits>,
  ): Promise<KeyWindowsResponse> {
    const fills = await this.windows.read({ accountId: response.user_id, keyHash });
    const limits = inForce.get(response.id) ?? response;
    const asOfMs = Date.now();
    return {
      key_id: response.id,
      as_of: new Date(asOfMs).toISOString(),
      windows: fills.map(({ window, used, resetMs }) => {
        const limit = limits[window];
        return {
          window,
          limit,
          used: limit > 0 ? used : 0,
          remaining: limit > 0 ? Math.max(0, limit - used) : null,
          resets_at: limit > 0 && used > 0 ? new Date(asOfMs + resetMs).toISOString() : null,
        };
      }),
    };
  }
}
