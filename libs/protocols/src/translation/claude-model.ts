/** Says what an Anthropic upstream's model takes, as far as its name shows. Unknown names are treated as current models. */
export interface ClaudeModel {
  /** `adaptive` uses thinking {type: adaptive} with output_config.effort, `budget` uses thinking {type: enabled, budget_tokens}. */
  thinking: 'adaptive' | 'budget' | 'none';
  /** Is true when the model takes temperature and top_p; newer models answer 400 to them. */
  takesSampling: boolean;
  /** Is true when it takes temperature and top_p together. */
  takesBothSampling: boolean;
  /** Is true when it takes the role "system" inside messages. */
  takesMidSystem: boolean;
  /** Is true when it continues the text of a final assistant message; known models only. */
  takesPrefill: boolean;
}

/** Matches `claude-opus-4-8`, `claude-haiku-4-5-20251001`, `anthropic/claude-3.7-sonnet`, `claude-3-haiku-20240307`, `claude-opus-5`. */
const NEW_NAME = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;
const OLD_NAME = /claude-(\d)(?:[-.](\d))?-[a-z]+/i;

/** See https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking and the migration guide of each model. */
export function claudeModel(name: string): ClaudeModel {
  const version = versionOf(name);
  if (version === null)
    return {
      thinking: 'adaptive',
      takesSampling: true,
      takesBothSampling: true,
      takesMidSystem: false,
      takesPrefill: false,
    };
  return {
    thinking: version >= 4.06 ? 'adaptive' : version >= 3.07 ? 'budget' : 'none',
    takesSampling: version < 4.07,
    takesBothSampling: version < 4.01,
    takesMidSystem: version >= 4.08,
    takesPrefill: version < 4.06,
  };
}

/** Returns major plus hundredths of minor: 4.10 is newer than 4.9. */
function versionOf(name: string): number | null {
  const match = NEW_NAME.exec(name) ?? OLD_NAME.exec(name);
  return match ? Number(match[1]) + Number(match[2] ?? 0) / 100 : null;
}
