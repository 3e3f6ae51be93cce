import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import {
  OpenToOneTimePassword,
  Permission,
  SessionOnly,
} from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { FromVisitor, type Visitor } from '../../platform/http/visitor.ts';
import {
  confirmedPasswordSchema,
  confirmPasswordBody,
  loginBody,
  loginQuery,
  meResponseSchema,
  passwordBody,
  registerBody,
  registeredResponseSchema,
  sessionResponseSchema,
  signedOutSchema,
  type ConfirmPasswordBody,
  type LoginBody,
  type LoginQuery,
  type PasswordBody,
  type RegisterBody,
} from './auth.dto.ts';
import { AuthService } from './auth.service.ts';
import { CookieSessions } from './cookie-sessions.ts';
import { logoutBody, type LogoutBody } from './sessions.dto.ts';
import { SessionsService } from './sessions.service.ts';

@ApiTags('auth')
@Controller('auth')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly sessions: SessionsService,
    private readonly cookies: CookieSessions,
  ) {}

  @Post('login')
  @Permission('public')
  @Answers('Sign in', sessionResponseSchema, {
    refuses: [
      'invalid_credentials',
      'account_pending',
      'account_rejected',
      'account_frozen',
      'rate_limited',
      'origin_not_allowed',
    ],
  })
  @HttpCode(200)
  async login(
    @FromVisitor() visitor: Visitor,
    @Body({ schema: loginBody }) body: LoginBody,
    @Query({ schema: loginQuery }) query: LoginQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.cookies.deliver({
      session: await this.auth.login(visitor, body),
      asCookie: query.session === 'cookie',
      request,
      response,
    });
  }

  @Post('register')
  @Permission('public')
  @Answers('Ask for an account; an administrator approves it', registeredResponseSchema, {
    refuses: ['username_taken', 'registration_limit', 'rate_limited'],
  })
  register(@FromVisitor() visitor: Visitor, @Body({ schema: registerBody }) body: RegisterBody) {
    return this.auth.register(visitor, body);
  }

  @Get('me')
  @Permission('user')
  @OpenToOneTimePassword()
  @Answers('The account of this session', meResponseSchema)
  me(@FromCaller() caller: Caller) {
    return this.auth.me(caller);
  }

  @Post('password')
  @Permission('user')
  @OpenToOneTimePassword()
  @SessionOnly()
  @Answers('Change the password; every other session ends', sessionResponseSchema, {
    refuses: ['wrong_password', 'rate_limited'],
  })
  @HttpCode(200)
  async password(
    @FromCaller() caller: Caller,
    @Body({ schema: passwordBody }) body: PasswordBody,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.cookies.deliver({
      session: await this.auth.changePassword(caller, body),
      asCookie: this.cookies.isUsedBy(request),
      request,
      response,
    });
  }

  @Post('confirm-password')
  @Permission('user')
  @SessionOnly()
  @Answers(
    'Give the password of this session again: for 15 minutes it may make administrators and tokens',
    confirmedPasswordSchema,
    { refuses: ['wrong_password', 'rate_limited'] },
  )
  @HttpCode(200)
  confirmPassword(
    @FromCaller() caller: Caller,
    @Body({ schema: confirmPasswordBody }) body: ConfirmPasswordBody,
  ) {
    return this.auth.confirmPassword(caller, body);
  }

  @Post('logout')
  @Permission('user')
  @OpenToOneTimePassword()
  @SessionOnly()
  @Answers('End this session; with `all`, every session of the account', signedOutSchema)
  @HttpCode(200)
  async logout(
    @FromCaller() caller: Caller,
    @Body({ schema: logoutBody }) body: LogoutBody,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    this.cookies.clear(request, response);
    return this.sessions.logout(caller, body);
  }
}
