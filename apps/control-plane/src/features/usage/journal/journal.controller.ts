import { Controller, Headers, HttpCode, Post, Req, type RawBodyRequest } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { JOURNAL_HEADERS, JOURNAL_PATH, type JournalReceipt } from '@tollgate/contracts';
import type { Request } from 'express';
import { Permission } from '../../../platform/access/permission.ts';
import { JournalService } from './journal.service.ts';

/** Serves proxy nodes only. The route is outside /admin-api, the front door refuses it, and the node's credential authenticates every byte. */
@Controller()
export class JournalController {
  constructor(private readonly journal: JournalService) {}

  @Post(JOURNAL_PATH)
  @Permission('public')
  @HttpCode(200)
  @ApiExcludeEndpoint()
  take(
    @Req() request: RawBodyRequest<Request>,
    @Headers(JOURNAL_HEADERS.node) node = '',
    @Headers(JOURNAL_HEADERS.at) at = '',
    @Headers(JOURNAL_HEADERS.proof) proof = '',
  ): Promise<JournalReceipt> {
    return this.journal.take({
      node,
      atMs: Number(at),
      proof,
      body: request.rawBody ?? Buffer.alloc(0),
    });
  }
}
