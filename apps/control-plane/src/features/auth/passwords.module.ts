import { Module } from '@nestjs/common';
import { Passwords } from './passwords.ts';

/** Apart from signing in, because accounts are also made by administrators. */
const passwords = { provide: Passwords, useFactory: () => new Passwords() };

@Module({ providers: [passwords], exports: [Passwords] })
export class PasswordsModule {}
