import luaparse, { type Expression, type Statement } from 'luaparse';

/** Lists names that a chunk may use without having declared them. */
const GLOBALS = new Set(
  'redis string math table struct cjson cmsgpack tonumber tostring type unpack pcall ipairs next pairs'.split(
    ' ',
  ),
);
const COMPARED: Record<string, (a: string, b: string) => string> = {
  '==': (a, b) => `${a}===${b}`,
  '~=': (a, b) => `${a}!==${b}`,
  '<': (a, b) => `L.isLess(${a},${b})`,
  '>': (a, b) => `L.isLess(${b},${a})`,
  '<=': (a, b) => `L.isAtMost(${a},${b})`,
  '>=': (a, b) => `L.isAtMost(${b},${a})`,
};
const COMPUTED: Record<string, (a: string, b: string) => string> = {
  '..': (a, b) => `L.text(${a})+L.text(${b})`,
  '%': (a, b) => `L.modulo(${a},${b})`,
  '^': (a, b) => `L.number(${a})**L.number(${b})`,
};

/** Returns the JavaScript of a chunk of Lua, for `new Function('L', 'G', ...)` with `LUA_OPERATIONS` and the globals. Throws where the chunk uses what the functions of Redis here never did. */
export function translateLua(source: string): string {
  const { body } = luaparse.parse(Buffer.from(source).toString('latin1'), {
    luaVersion: '5.1',
    encodingMode: 'pseudo-latin1',
    comments: false,
  });
  return new Translation().block(body);
}

function unknown(node: { type: string }): never {
  throw new SyntaxError(`the translation of Lua does not know ${node.type}`);
}

class Translation {
  /** Holds the names in force, by block. */
  readonly #scopes: Set<string>[] = [new Set()];

  block(body: readonly Statement[]): string {
    return `let $;${this.#statements(body)}`;
  }

  #statements(body: readonly Statement[]): string {
    return body.map((statement) => this.#statement(statement)).join('\n');
  }

  #scoped(names: readonly string[], write: () => string): string {
    this.#scopes.push(new Set(names));
    const written = write();
    this.#scopes.pop();
    return written;
  }

  #inner(body: readonly Statement[]): string {
    return `{${this.#scoped([], () => this.#statements(body))}}`;
  }

  #declare(name: string): string {
    this.#scopes.at(-1)?.add(name);
    return local(name);
  }

  #statement(node: Statement): string {
    switch (node.type) {
      case 'LocalStatement':
        return this.#local(
          node.variables.map(({ name }) => name),
          node.init,
        );
      case 'AssignmentStatement':
        return this.#assignment(node.variables, node.init);
      case 'CallStatement':
        return `${this.#call(node.expression)};`;
      case 'FunctionDeclaration':
        return this.#function(node);
      case 'ReturnStatement':
        return this.#return(node.arguments);
      case 'IfStatement':
        return node.clauses
          .map((clause) =>
            clause.type === 'ElseClause'
              ? this.#inner(clause.body)
              : `if(${this.#condition(clause.condition)})${this.#inner(clause.body)}`,
          )
          .join('else ');
      case 'DoStatement':
        return this.#inner(node.body);
      case 'WhileStatement':
        return `while(${this.#condition(node.condition)})${this.#inner(node.body)}`;
      case 'RepeatStatement':
        return `for(;;){${this.#scoped([], () => `${this.#statements(node.body)}if(${this.#condition(node.condition)})break;`)}}`;
      case 'BreakStatement':
        return 'break;';
      case 'ForNumericStatement': {
        const step = node.step ? `i$+=L.number(${this.#one(node.step)})` : 'i$++';
        const [from, to] = [this.#one(node.start), this.#one(node.end)];
        const name = local(node.variable.name);
        const body = this.#scoped([node.variable.name], () => this.#statements(node.body));
        return `for(let i$=L.number(${from}),n$=L.number(${to});i$<=n$;${step}){const ${name}=i$;${body}}`;
      }
      case 'ForGenericStatement':
        return this.#each(node);
      default:
        return unknown(node);
    }
  }

  /** Translates a loop over `ipairs`, the only iterator that is known. */
  #each(node: Extract<Statement, { type: 'ForGenericStatement' }>): string {
    const [iterator] = node.iterators;
    const isKnown =
      iterator?.type === 'CallExpression' &&
      iterator.base.type === 'Identifier' &&
      iterator.base.name === 'ipairs';
    if (!isKnown) return unknown(node);
    const names = node.variables.map(({ name }) => name);
    const [at = '_', value = '_'] = names;
    const list = this.#one(iterator.arguments[0] as Expression);
    const body = this.#scoped(names, () => this.#statements(node.body));
    return `{const t$=${list};for(let i$=1,v$;(v$=L.index(t$,i$))!==undefined;i$++){let ${local(at)}=i$,${local(value)}=v$;${body}}}`;
  }

  #local(names: readonly string[], init: readonly Expression[]): string {
    const values = this.#values(init, names.length);
    return `let ${names.map((name, at) => `${this.#declare(name)}${this.#nth(values, at)}`).join(',')};`;
  }

  #nth(values: readonly string[] | string, at: number): string {
    if (typeof values === 'string') return at === 0 ? `=($=${values})[0]` : `=$[${at}]`;
    return values[at] === undefined ? '' : `=${values[at]}`;
  }

  /** Returns one for each name, or the list of which they are the first ones. */
  #values(init: readonly Expression[], wanted: number): string[] | string {
    const last = init.at(-1);
    if (last && wanted > init.length && isCall(last)) return this.#list(init);
    return init.map((expression) => this.#one(expression));
  }

  #assignment(
    variables: readonly Extract<Statement, { type: 'AssignmentStatement' }>['variables'][number][],
    init: readonly Expression[],
  ): string {
    const values = this.#values(init, variables.length);
    const list = typeof values === 'string' ? values : `[${values.join(',')}]`;
    const [only] = variables;
    if (only && variables.length === 1) return this.#store(only, values[0] ?? 'undefined');
    return `{const r$=${list};${variables.map((target, at) => this.#store(target, `r$[${at}]`)).join('')}}`;
  }

  #store(target: Expression, value: string): string {
    if (target.type === 'Identifier') return `${this.#name(target.name)}=${value};`;
    if (target.type === 'IndexExpression')
      return `L.setIndex(${this.#one(target.base)},${this.#one(target.index)},${value});`;
    if (target.type === 'MemberExpression')
      return `L.setIndex(${this.#one(target.base)},${JSON.stringify(target.identifier.name)},${value});`;
    return unknown(target);
  }

  #function(node: Extract<Statement, { type: 'FunctionDeclaration' }>): string {
    if (node.identifier?.type !== 'Identifier' || !node.isLocal) return unknown(node);
    const name = this.#declare(node.identifier.name);
    const parameters = node.parameters.map((each) =>
      each.type === 'Identifier' ? each.name : unknown(each),
    );
    const body = this.#scoped(parameters, () => this.block(node.body));
    return `function ${name}(${parameters.map(local).join(',')}){${body}}`;
  }

  #return(values: readonly Expression[]): string {
    const [only] = values;
    if (!only) return 'return;';
    if (values.length > 1) return `return ${this.#list(values)};`;
    return `return ${isCall(only) ? this.#call(only) : this.#one(only)};`;
  }

  /** Writes an array; the last call gives all of its results. */
  #list(values: readonly Expression[]): string {
    const written = values.map((value, at) =>
      at === values.length - 1 && isCall(value)
        ? `...L.all(${this.#call(value)})`
        : this.#one(value),
    );
    return `[${written.join(',')}]`;
  }

  #condition(node: Expression): string {
    const written = this.#one(node);
    const isBoolean = node.type === 'BinaryExpression' && COMPARED[node.operator];
    return isBoolean ? written : `L.isTrue(${written})`;
  }

  #one(node: Expression): string {
    switch (node.type) {
      case 'StringLiteral':
        return JSON.stringify(node.value);
      case 'NumericLiteral':
      case 'BooleanLiteral':
        return String(node.value);
      case 'NilLiteral':
        return 'undefined';
      case 'Identifier':
        return this.#name(node.name);
      case 'IndexExpression':
        return `L.index(${this.#one(node.base)},${this.#one(node.index)})`;
      case 'MemberExpression':
        return `L.index(${this.#one(node.base)},${JSON.stringify(node.identifier.name)})`;
      case 'CallExpression':
        return `L.one(${this.#call(node)})`;
      case 'TableConstructorExpression':
        return this.#table(node);
      case 'UnaryExpression':
        return this.#unary(node);
      case 'BinaryExpression':
        return this.#binary(node);
      case 'LogicalExpression': {
        const [left, right] = [this.#one(node.left), this.#one(node.right)];
        return node.operator === 'and'
          ? `(L.isTrue($=${left})?${right}:$)`
          : `(L.isTrue($=${left})?$:${right})`;
      }
      default:
        return unknown(node);
    }
  }

  #unary(node: Extract<Expression, { type: 'UnaryExpression' }>): string {
    const value = this.#one(node.argument);
    if (node.operator === 'not') return `!L.isTrue(${value})`;
    if (node.operator === '-') return `(-L.number(${value}))`;
    if (node.operator === '#') return `L.length(${value})`;
    return unknown(node);
  }

  #binary(node: Extract<Expression, { type: 'BinaryExpression' }>): string {
    const [a, b] = [this.#one(node.left), this.#one(node.right)];
    const write = COMPARED[node.operator] ?? COMPUTED[node.operator];
    if (write) return `(${write(a, b)})`;
    if (!'+-*/'.includes(node.operator)) return unknown(node);
    return `(L.number(${a})${node.operator}L.number(${b}))`;
  }

  #table(node: Extract<Expression, { type: 'TableConstructorExpression' }>): string {
    const list = node.fields.flatMap((field) => (field.type === 'TableValue' ? field.value : []));
    const named = node.fields.flatMap((field) => {
      if (field.type === 'TableValue') return [];
      if (field.type !== 'TableKeyString') return unknown(field);
      return `[${JSON.stringify(field.key.name)},${this.#one(field.value)}]`;
    });
    return `new L.Table(${this.#list(list)},[${named.join(',')}])`;
  }

  #call(node: Expression): string {
    if (node.type === 'CallExpression') {
      const name = node.base.type === 'Identifier' ? node.base.name : node.base.type;
      const list = this.#list(node.arguments);
      return `L.call(${this.#one(node.base)},${JSON.stringify(name)},...${list})`;
    }
    if (node.type === 'TableCallExpression')
      return `L.call(${this.#one(node.base)},"",${this.#one(node.arguments as unknown as Expression)})`;
    return unknown(node);
  }

  #name(name: string): string {
    if (this.#scopes.some((scope) => scope.has(name))) return local(name);
    if (GLOBALS.has(name)) return `G.${name}`;
    throw new SyntaxError(`Lua uses ${name}, which is not declared`);
  }
}

function isCall(node: Expression): boolean {
  return node.type === 'CallExpression';
}

/** Names of Lua may be words of JavaScript. */
function local(name: string): string {
  return `_${name}`;
}
