import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Permission } from '../access/permission.ts';
import { OpenApiDocument } from './openapi-document.ts';

@ApiExcludeController()
@Controller('openapi.json')
export class OpenApiController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  @Permission('public')
  read() {
    return this.document.read();
  }
}
