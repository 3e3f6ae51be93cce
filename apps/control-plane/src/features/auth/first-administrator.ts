import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { lockUntilEnd } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { CONFIG, type Config } from '../../config.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService, SYSTEM } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { AccountsService } from '../users/accounts.service.ts';
import { Passwords } from '../../platform/access/passwords.ts';

/** Creates the administrator named in the environment when there is none. Of two replicas that start at once, one creates it (security S44). */
@Injectable()
export class FirstAdministrator implements OnApplicationBootstrap {
  private readonly logger = new Logger('first-administrator');

  constructor(
    private readonly accounts: AccountsService,
    private readonly passwords: Passwords,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    private readonly liveState: LiveStateService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { BOOTSTRAP_ADMIN_USERNAME: username, BOOTSTRAP_ADMIN_PASSWORD: password } = this.config;
    if (username === undefined || password === undefined) return;
    await this.transactions.run(async (tx) => {
      await lockUntilEnd(tx, [ADVISORY_LOCKS.firstAdministrator]);
      if (await this.accounts.hasAdministrator(tx)) return;
      // Hashing takes 0.1 s of CPU, and only the first start of an installation needs it.
      const passwordHash = await this.passwords.hash(password);
      const account = await this.accounts.create(tx, {
        username,
        passwordHash,
        role: 'admin',
        status: 'active',
      });
      // Nodes would refuse the keys of an account without a live record.
      await this.liveState.accountChanged(tx, account.userId);
      this.activity.record(tx, SYSTEM, {
        action: 'user.bootstrap',
        target: { kind: 'user', id: account.userId },
        after: { username, role: 'admin' },
      });
      this.logger.log(`created the first administrator ${username}`);
    });
  }
}
