// What an allocation calls its rewards, rounds and arms: the page's own text speaks so, and names stay as they are.
const NOUN = /\b(?:([Aa])n? )?([Rr]ound|[Aa]rm)(s?)\b/g;

let now = { unit: '', round_name: '', arm_name: '' };
let texts = new WeakMap(); // of templates, with the words of now

// Those of the allocation that is shown, or none.
export function speak(words) {
  if (JSON.stringify(words) === JSON.stringify(now)) return;
  now = words ?? { unit: '', round_name: '', arm_name: '' };
  texts = new WeakMap();
}

export const unit = () => now.unit;

// The singular, and the plural.
function formsOf(word) {
  const [one, more] = word.split('/');
  return more === undefined ? [one.replace(/s$/, '') || one, one] : [one, more];
}

// The page's own text in these words; never a name.
export function say(text) {
  if (!now.round_name && !now.arm_name) return text;
  return text.replace(NOUN, (found, article, noun, plural) => {
    const called = /round/i.test(noun) ? now.round_name : now.arm_name;
    if (!called) return found;
    const word = formsOf(called)[plural ? 1 : 0];
    const shown = /[RA]/.test(noun[0]) ? word[0].toLocaleUpperCase('en-GB') + word.slice(1) : word;
    return article ? `${article}${/^[aeiou]/i.test(word) ? 'n' : ''} ${shown}` : shown;
  });
}

// The strings of a template with its text in these words; what stands within a tag stays.
export function spoken(strings) {
  if (!now.round_name && !now.arm_name) return strings;
  if (!texts.has(strings)) {
    let tag = false;
    const text = (string) => string.replace(/[<>]|[^<>]+/g, (part) => {
      if (part === '<' || part === '>') tag = part === '<';
      return tag || part === '>' ? part : say(part);
    });
    texts.set(strings, strings.map(text));
  }
  return texts.get(strings);
}
