import { Inject, Injectable } from '@nestjs/common';
import { formatAmount } from '@tollgate/money';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { Page } from '../../platform/http/list-query.ts';
import { noSuch } from '../../platform/http/refusal.ts';
import type { UserResponse } from '../users/users.dto.ts';
import { UsersService } from '../users/users.service.ts';
import type { DirectoryQuery, ListedUser } from './directory.dto.ts';
import { countListed, listAccounts, oneAccount, type AccountFigures } from './list-accounts.sql.ts';

/** Lists accounts for administrators. */
@Injectable()
export class DirectoryService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UsersService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(query: DirectoryQuery): Promise<Page<ListedUser>> {
    const [found, total] = await Promise.all([
      listAccounts(this.dataSource, query),
      countListed(this.dataSource, query),
    ]);
    const rows = await this.users.byIds(found.map(({ id }) => id));
    const data = found.flatMap((figures) => {
      const user = rows.get(figures.id);
      return user ? [this.listed(user, figures)] : [];
    });
    const { page, page_size: pageSize } = query;
    return { data, page, page_size: pageSize, total, has_more: page * pageSize < total };
  }

  async get(id: number): Promise<ListedUser> {
    const [user, figures] = await Promise.all([
      this.users.get(id),
      oneAccount(this.dataSource, id),
    ]);
    if (!figures) throw noSuch('account', id);
    return this.listed(user, figures);
  }

  private listed(user: UserResponse, figures: AccountFigures): ListedUser {
    return {
      ...user,
      balance: formatAmount(figures.balance),
      currency: this.config.CURRENCY,
      spend_30d: formatAmount(figures.spend),
      last_used_at: figures.last_used_at?.toISOString() ?? null,
      last_seen_at: figures.last_seen_at?.toISOString() ?? null,
    };
  }
}
