/** Counts the arguments of tool calls in the text of an answer as it comes: members at the top of a JSON object, wherever the text is cut. */
export class ArgumentCounter {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** A call begins; what was said before is no part of its arguments. */
  begin(): void {
    this.#depth = 0;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  read(text: string): void {
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
    // What stands outside of an object is the name of a tool, or said after the call.
    if (character === '{' || (character === '[' && this.#depth > 0)) this.#depth += 1;
    else if (this.#depth === 0) return;
    else if (character === '"') this.#isInString = true;
    else if (character === '}' || character === ']') this.#depth -= 1;
    else if (character === ':' && this.#depth === 1) this.#count += 1;
  }
}
