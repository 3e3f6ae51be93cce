import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { deleteUserQuery, freezeQuery, updateUserBody, usersQuery, type DeleteUserQuery, type FreezeQuery, type UpdateUserBody, type UsersQuery } from './users.dto.ts';
import { UsersService } from './users.service.ts';

@Controller('users')
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: usersQuery }) query: UsersQuery) {
    return this.users.list(query);
  }

  @Get(':id')
  @Permission('admin')
  get(@IdPath() id: number) {
    return this.users.get(id);
  }

  @Put(':id')
  @Permission('admin')
  update(@FromCaller() caller: Caller, @IdPath() id: number, @Body({ schema: updateUserBody }) body: UpdateUserBody) {
    return this.users.update(caller, id, body);
  }

  @Post(':id/approve')
  @Permission('admin')
  @HttpCode(200)
  approve(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.approve(caller, id);
  }

  @Post(':id/reject')
  @Permission('admin')
  @HttpCode(200)
  reject(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.reject(caller, id);
  }

  @Post(':id/freeze')
  @Permission('admin')
  @HttpCode(200)
  freeze(@FromCaller() caller: Caller, @IdPath() id: number, @Query({ schema: freezeQuery }) query: FreezeQuery) {
    return this.users.freeze(caller, id, query.drain);
  }

  @Post(':id/unfreeze')
  @Permission('admin')
  @HttpCode(200)
  unfreeze(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.users.unfreeze(caller, id);
  }

  @Delete(':id')
  @Permission('admin')
  @HttpCode(204)
  delete(@FromCaller() caller: Caller, @IdPath() id: number, @Query({ schema: deleteUserQuery }) query: DeleteUserQuery) {
    return this.users.delete(caller, id, query);
  }
}
