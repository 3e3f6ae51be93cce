/**
 * Counts the arguments of tool calls in the text of an answer as it arrives: the top-level members of the first JSON object after a call began,
 * however the text is cut.
 */
export class ArgumentCounter {
  #depth = 0;
  /** The arguments of this call are complete; a following object is other text. */
  #isWhole = true;
  #isInString = false;
  #isEscaped = false;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Begins a call; earlier text is not part of its arguments. */
  begin(): void {
    this.#depth = 0;
    this.#isWhole = false;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  read(text: string): void {
    if (this.#isWhole) return;
    for (const character of text)
      if (this.#isInString) this.#readString(character);
      else this.#readSyntax(character);
  }

  #readString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }

  #readSyntax(character: string): void {
    // Text outside an object is the name of a tool, or text after the call.
    if (this.#isWhole) return;
    if (character === '{' || (character === '[' && this.#depth > 0)) this.#depth += 1;
    else if (this.#depth === 0) return;
    else if (character === '"') this.#isInString = true;
    else if (character === '}' || character === ']') this.#close();
    else if (character === ':' && this.#depth === 1) this.#count += 1;
  }

  #close(): void {
    this.#depth -= 1;
    this.#isWhole = this.#depth === 0;
  }
}
