import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import { shareUsers } from './users-under-test.ts';
import './account-life.part.spec.ts';
import './account-holdings.part.spec.ts';
import './administrators.part.spec.ts';
import './users-list.part.spec.ts';
import './erase-account.part.spec.ts';

shareControlPlane();
shareUsers();
