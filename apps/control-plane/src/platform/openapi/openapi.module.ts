import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DocsController } from './docs.controller.ts';
import { OpenApiController } from './openapi.controller.ts';
import { RouteTable } from './route-table.ts';

@Global()
@Module({
  imports: [DiscoveryModule],
  controllers: [OpenApiController, DocsController],
  providers: [RouteTable],
  exports: [RouteTable],
})
export class OpenApiModule {}
