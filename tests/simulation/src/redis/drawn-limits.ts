/** Writes limits as the control plane writes them: few are reached, so that most requests are admitted. */
const limitsOf = (w: readonly (readonly (string | number)[])[], [c, i, o] = [0, 0, 0]): string =>
  JSON.stringify({ w, c, i, o, k: 1 });
export const ONE_A_MINUTE = limitsOf([['rpm', 'r', 1_000, 1, '', 0]]);
export const LIMITS = [
  '',
  '',
  '',
  ONE_A_MINUTE,
  ONE_A_MINUTE,
  limitsOf([['rph', 'r', 60_000, 2, '', 0]]),
  limitsOf(
    [
      ['rph', 'r', 60_000, 3, '', 0],
      ['tpm', 't', 1_000, 120, '', 1],
      ['tpm gpt-*', 't', 1_000, 60, 'gpt-*', 0],
    ],
    [2, 100, 50],
  ),
];
export const ACCOUNT_LIMITS = ['', '', limitsOf([['account tph', 't', 60_000, 400, '', 0]])];

/** Draws them in the control plane's form: limits that are reached and others, of each unit, with and without periods, and rolling. */
export const BUDGETS = [
  ...Array.from({ length: 13 }, () => ''),
  '[[1,"charged_tokens",3000,"0000000000","","refuse",{"0":500}]]',
  '[[2,"requests",3,"17000000001800000000","gpt*","refuse",{}],[3,"money",90000,"0000000000","","notify",{}]]',
  '[[3,"money",0,"0000000000","","refuse",{}]]',
  '[[3,"charged_tokens",5,"0000000000","","refuse",{}]]',
  '[[4,"requests",2,"00000000001900000030","","refuse",{},"s",0],[5,"charged_tokens",900,"0000000000","","refuse",{},"u",1]]',
  '[[6,"tokens",9000,"0000000000","","refuse",{}],[7,"tokens",2000,"0000000000","","refuse",{"0":900},"",0,5]]',
  '[[8,"charged_tokens",9000,"1700000003","","refuse",{"1700000005":50},"s",0,5]]',
];

/** Holds two sessions and two end users. */
export const VALUES = ['s0', 's1', 'u0', 'u1'].map((start) => start.padEnd(32, '7'));

/** Holds claims on such budgets, as finals and restored holds name them. */
export const CLAIMS = [
  '',
  '',
  '1:0:1000000',
  '1:0:1000000,2:1700000000:0,3:0:75000',
  '6:0:200000+50,7:1700000005:0+300',
  `4:0:0:${VALUES[0]}`,
];
