import { Body, Controller, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { FreshPassword, Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { AccountIssuing } from './account-issuing.service.ts';
import {
  createdUserSchema,
  createUserBody,
  eraseUserBody,
  erasureSchema,
  freezeQuery,
  updateUserBody,
  userResponseSchema,
  oneTimePasswordSchema,
  type CreateUserBody,
  type EraseUserBody,
  type FreezeQuery,
  type UpdateUserBody,
} from './users.dto.ts';
import { UsersService } from './users.service.ts';

@ApiTags('users')
@Controller('users')
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly issuing: AccountIssuing,
  ) {}

  @Post()
  @Permission('admin')
  @FreshPassword({ role: 'admin' })
  @Answers(
    'Create an active account; the answer shows its one-time password, once',
    createdUserSchema,
    {
      refuses: ['username_taken', 'rate_limited'],
    },
  )
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createUserBody }) body: CreateUserBody,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.issuing.create(caller, body, key);
  }

  @Post(':id/reset-password')
  @Permission('admin')
  @FreshPassword()
  @Answers(
    'Give an account a one-time password; its sessions and access tokens end',
    oneTimePasswordSchema,
    { refuses: ['cannot_change_self', 'rate_limited'] },
  )
  @HttpCode(200)
  resetPassword(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.issuing.resetPassword(caller, id);
  }

  @Put(':id')
  @Permission('admin')
  @FreshPassword({ role: 'admin' })
  @Answers('Change an account; a new administrator signs in again', userResponseSchema, {
    refuses: ['cannot_change_self', 'last_administrator'],
  })
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateUserBody }) body: UpdateUserBody,
  ) {
    return this.users.update(caller, id, body);
  }

  @Post(':id/approve')
  @Permission('admin')
  @Answers('Let a pending or rejected account in', userResponseSchema, {
    refuses: ['invalid_transition', 'session_needed', 'password_needed'],
  })
  @HttpCode(200)
  approve(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.approve(caller, id);
  }

  @Post(':id/reject')
  @Permission('admin')
  @Answers('Turn a pending account away', userResponseSchema, { refuses: ['invalid_transition'] })
  @HttpCode(200)
  reject(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.reject(caller, id);
  }

  @Post(':id/freeze')
  @Permission('admin')
  @Answers('Freeze an account: sessions and keys stop at once', userResponseSchema, {
    refuses: ['invalid_transition', 'cannot_change_self', 'last_administrator'],
  })
  @HttpCode(200)
  freeze(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: freezeQuery }) query: FreezeQuery,
  ) {
    return this.users.freeze(caller, id, query.drain);
  }

  @Post(':id/unfreeze')
  @Permission('admin')
  @Answers('Let a frozen account act again', userResponseSchema, {
    refuses: ['invalid_transition', 'session_needed', 'password_needed'],
  })
  @HttpCode(200)
  unfreeze(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.unfreeze(caller, id);
  }

  @Get(':id/erasure')
  @Permission('admin')
  @Answers('What an erasure of a deleted account would empty', erasureSchema, {
    refuses: ['invalid_transition'],
  })
  erasure(@IdPath() id: number) {
    return this.users.previewErasure(id);
  }

  @Post(':id/erase')
  @Permission('admin')
  @Answers(
    'Empty what names the person of a deleted account, which cannot be undone; amounts, tokens and times stay',
    erasureSchema,
    { refuses: ['invalid_transition', 'name_not_confirmed'] },
  )
  @HttpCode(200)
  erase(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: eraseUserBody }) body: EraseUserBody,
  ) {
    return this.users.erase(caller, id, body);
  }
}
