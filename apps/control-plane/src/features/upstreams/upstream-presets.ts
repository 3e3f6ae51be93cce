import { authTypesOf, type UpstreamProtocol } from '@tollgate/contracts';
import {
  hasBlank,
  hostOf,
  PRESET_NAMES,
  PROVIDER_PRESETS,
  type ProviderPreset,
} from '@tollgate/snapshot';
import { invalidField } from '../../platform/http/refusal.ts';
import {
  BLANK_TO_FILL,
  NEEDED_WITHOUT_PRESET,
  type CreateUpstream,
  type Presets,
} from './upstreams.dto.ts';

/** Holds a new upstream with all that every upstream has. */
export type WholeUpstream = Omit<CreateUpstream, 'preset' | 'protocol' | 'base_url'> & {
  protocol: UpstreamProtocol;
  base_url: string;
};

/** Returns a new upstream with what its preset knows; a given field stands before the preset's. Throws a refusal that names the field that is missing. */
export function withPreset({ preset: name, ...given }: CreateUpstream): WholeUpstream {
  const preset = name && PROVIDER_PRESETS[name];
  const protocol = given.protocol ?? preset?.protocol;
  if (!protocol) throw invalidField('protocol', NEEDED_WITHOUT_PRESET);
  if (given.base_url !== undefined)
    return { ...(preset && knownOfOwn(preset)), ...given, protocol, base_url: given.base_url };
  if (!preset) throw invalidField('base_url', NEEDED_WITHOUT_PRESET);
  if (hasBlank(preset)) throw invalidField('base_url', BLANK_TO_FILL);
  return { ...given, protocol, base_url: preset.base_url };
}

/** Returns the preset's facts about a server that an installation runs itself. Facts about a hosted provider follow from its host, also when they change. */
function knownOfOwn(
  preset: ProviderPreset,
): Pick<CreateUpstream, 'endpoints' | 'stops_billing_on_close'> {
  if (hostOf(preset) !== null) return {};
  const { endpoints, stops_billing_on_close } = preset;
  return { endpoints: [...endpoints], stops_billing_on_close };
}

export const PRESETS: Presets = {
  data: PRESET_NAMES.map((name) => {
    const preset = PROVIDER_PRESETS[name];
    return {
      name,
      ...preset,
      endpoints: [...preset.endpoints],
      auth_types: authTypesOf(preset.protocol),
    };
  }),
};
