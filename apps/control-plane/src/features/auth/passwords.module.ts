import { Module } from '@nestjs/common';
import { Passwords } from './passwords.ts';

/** Apart from signing in, because accounts are also made by administrators. */
@Module({ providers: [Passwords], exports: [Passwords] })
export class PasswordsModule {}
