import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Permission } from '../access/permission.ts';

/** Names the file beside this app, in a checkout and in an image alike. */
const WRITTEN = path.resolve(import.meta.dirname, '../../../../../libs/admin-client/openapi.json');

/** Serves the document of this release as `npm run generate` wrote it: a process that compiled it would start later. */
@ApiExcludeController()
@Controller('openapi.json')
export class OpenApiController {
  private text: string | undefined;

  @Get()
  @Permission('public')
  @Header('content-type', 'application/json; charset=utf-8')
  read(): string {
    this.text ??= JSON.stringify(JSON.parse(readFileSync(WRITTEN, 'utf8')));
    return this.text;
  }
}
