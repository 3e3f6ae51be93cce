/** Beginnings by which models announce a continuation or excuse an interruption, instead of continuing. */
const OPENINGS = [
  "(i|we) (sincerely |deeply |do )?apologi[sz]e|(my |please accept my |our )?(sincere )?apologies|(i'm|i am|we're|we are)? ?(so |very |really )?sorry",
  "continuing|(to|let me|let us|i will|i'll) (continue|pick up|resume|carry on|restart|start over|begin again|finish)|picking up|resuming|(as|where) (i|we) (was|were|left|had)",
  "(here('s| is| are)|below is) (the|my|a|your) (\\w+ )?(rest|continu|complet|full|remain|answer|text)|sure[,!.]|certainly[,!.]|of course[,!.]|understood[,!.]|absolutely[,!.]|okay[,!.]|got it[,!.]|my previous (answer|response|message)",
  'entschuldig|(es )?tut mir (sehr )?leid|verzeih|ich (setze|fahre|mache|bitte)\\b|hier (ist|kommt) (die|der) (fortsetzung|rest)|fortsetzung|natürlich[,!.]|gerne[,!.]|bitte entschuldig',
  '(je suis |nous sommes )?(vraiment |sincèrement )?désolée?s?\\b|je (m.excuse|vous prie|continue|reprends|poursuis)|excuse|toutes mes excuses|mes excuses|pardon|veuillez|voici la (suite|fin)|reprenons|bien sûr[,!.]',
  'lo siento|perd[oó]n|disculp|(mis|mil) disculpas|(te |le )?pido|lamento|contin[uú]o|continuando|aquí (está|tienes|sigue)|por supuesto[,!.]|claro[,!.]',
  'mi scuso|scus|mi dispiace|chiedo scusa|le mie scuse|riprendo|ecco (il|la) (resto|seguito|continuazione)|certo[,!.]',
  'desculp|(eu )?peço desculpa|sinto muito|aqui está',
  '(非常|很|十分|真的)?(抱歉|对不起|對不起|不好意思)|我(很|非常|深表|为)|继续|繼續|接着|接上|以下是|好的|当然',
  '(大変|誠に|本当に)?(申し訳|すみません|すいません|ごめん|失礼)|続き|続け|承知|かしこまり',
  '(정말 |대단히 )?(죄송|미안)|계속|이어서',
  'извин|прошу прощения|прости|приношу|продолж|конечно[,!.]',
].map((words) => new RegExp(`^(?:${words})`, 'iu'));

/** Words for what happened to the connection. The text itself hardly speaks of that when it has not before. */
const MISHAPS =
  /cut off|interrupt|left off|technical (failure|difficult|issue|problem)|previous (answer|response|message)|continuation|unterbr|abgebroch|fortsetzung|interromp|interrup|coup[ée]e? |interrotto|中断|中斷|打断|断线|途切れ|прерва|прерыв/iu;
/** Characters of a beginning in which a mishap is spoken of. */
const MISHAP_WITHIN = 160;

/** Returns whether the beginning speaks of itself, or of what interrupted it. */
export function isPreamble(delivered: string, beginning: string): boolean {
  const bare = beginning.replace(/^[^\p{L}]+/u, '').replaceAll('’', "'");
  if (OPENINGS.some((opening) => opening.test(bare))) return true;
  const mishap = MISHAPS.exec(bare.slice(0, MISHAP_WITHIN));
  return mishap !== null && !delivered.toLowerCase().includes(mishap[0].toLowerCase());
}
