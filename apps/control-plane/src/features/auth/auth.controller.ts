import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { FromVisitor, type Visitor } from '../../platform/http/visitor.ts';
import { loginBody, loginQuery, passwordBody, registerBody, type LoginBody, type LoginQuery, type PasswordBody, type RegisterBody } from './auth.dto.ts';
import { AuthService } from './auth.service.ts';
import { CookieSessions } from './cookie-sessions.ts';

@Controller('auth')
export class AuthController {
  constructor(private readonly auth: AuthService, private readonly cookies: CookieSessions) {}

  @Post('login')
  @Permission('public')
  @HttpCode(200)
  async login(
    @FromVisitor() visitor: Visitor,
    @Body({ schema: loginBody }) body: LoginBody,
    @Query({ schema: loginQuery }) query: LoginQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.cookies.deliver({ session: await this.auth.login(visitor, body), asCookie: query.session === 'cookie', request, response });
  }

  @Post('register')
  @Permission('public')
  register(@FromVisitor() visitor: Visitor, @Body({ schema: registerBody }) body: RegisterBody) {
    return this.auth.register(visitor, body);
  }

  @Get('me')
  @Permission('user')
  me(@FromCaller() caller: Caller) {
    return this.auth.me(caller);
  }

  @Post('password')
  @Permission('user')
  @HttpCode(200)
  async password(@FromCaller() caller: Caller, @Body({ schema: passwordBody }) body: PasswordBody, @Req() request: Request, @Res({ passthrough: true }) response: Response) {
    return this.cookies.deliver({ session: await this.auth.changePassword(caller, body), asCookie: this.cookies.isUsedBy(request), request, response });
  }

  @Post('logout')
  @Permission('user')
  @HttpCode(200)
  async logout(@FromCaller() caller: Caller, @Req() request: Request, @Res({ passthrough: true }) response: Response) {
    this.cookies.clear(request, response);
    return this.auth.logout(caller);
  }
}
