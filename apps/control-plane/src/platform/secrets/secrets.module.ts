import { Global, Module } from '@nestjs/common';
import { createControlPlaneMac, createSecretBox, encryptionKeysOf } from '@tollgate/contracts';
import { CONFIG, type Config } from '../../config.ts';

/** Is the injection token of the box that seals secrets for their rows: `@Inject(SECRET_BOX) box: SecretBox`. */
export const SECRET_BOX = Symbol('SECRET_BOX');
/** Is the injection token of the MAC that signs messages to nodes in Redis: `@Inject(CONTROL_PLANE_MAC) mac: ControlPlaneMac`. */
export const CONTROL_PLANE_MAC = Symbol('CONTROL_PLANE_MAC');

@Global()
@Module({
  providers: [
    {
      provide: SECRET_BOX,
      inject: [CONFIG],
      useFactory: (config: Config) => createSecretBox(encryptionKeysOf(config)),
    },
    {
      provide: CONTROL_PLANE_MAC,
      inject: [CONFIG],
      useFactory: (config: Config) => createControlPlaneMac(encryptionKeysOf(config)),
    },
  ],
  exports: [SECRET_BOX, CONTROL_PLANE_MAC],
})
export class SecretsModule {}
