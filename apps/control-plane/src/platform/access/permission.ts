import { SetMetadata, type CustomDecorator } from '@nestjs/common';

/** public: anyone. user: an active account, for its own data. admin: administrators. */
export type PermissionLevel = 'public' | 'user' | 'admin';
export const PERMISSION = 'tollgate:permission';

/** Stands beside every route; the process does not start when one lacks it. */
export const Permission = (level: PermissionLevel): CustomDecorator =>
  SetMetadata(PERMISSION, level);
