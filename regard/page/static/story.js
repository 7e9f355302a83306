// A story on the page: what is said about a step, a question with its answer folded, and the way on.

import { stories as askStories } from './ask.js';
import { button, choice } from './controls.js';
import { clear, h } from './dom.js';
import { stepped } from './selection.js';

/** @import { Story } from './ask.js' */
/** @import { Look } from './main.js' */

/** @type {Story[]} */
let known = [];

/** Fetches what stories there are; a page without any goes on. */
export async function learnStories() {
  known = await askStories().catch(() => []);
}

/**
 * A list of them, to begin one.
 * @param {Look} look
 */
export function storyMenu({ selection, choose }) {
  if (!known.length) return null;
  const names = known.map(({ name, title }) => /** @type {[string, string]} */ ([name, title]));
  const begin = (/** @type {string} */ name) => {
    const story = known.find((one) => one.name === name);
    choose(story ? { ...stepped(selection, story.steps[0].address), story: name, tale: 0 } : { story: '', tale: 0 });
  };
  return choice('', [['', 'Stories…'], ...names], selection.story, begin, 'story');
}

/**
 * The step that is told, above the view.
 * @param {Look} look
 * @param {HTMLElement} place
 * @param {readonly string[]} views
 */
export function tell(look, place, views) {
  const { selection, choose } = look;
  clear(place);
  if (!selection.story) return;
  const story = known.find((one) => one.name === selection.story);
  if (!story) {
    place.append(h('p.note', `There is no story '${selection.story}' here.`));
    return;
  }
  const at = Math.max(0, Math.min(selection.tale, story.steps.length - 1));
  const { say, question, answer } = story.steps[at];
  const go = (/** @type {number} */ to) => choose({ ...stepped(selection, story.steps[to].address), tale: to });
  const told = h(
    'div',
    h('h3', story.title, h('small', `${at + 1} of ${story.steps.length}`)),
    h('p', say),
    missing(look, story.steps[at].address, views),
    question && h('details', h('summary', question), h('p', answer)),
    h(
      'p.ways',
      button('button.button', () => go(at - 1), { id: 'story-back', disabled: at === 0 }, 'Back'),
      button(
        'button.button.main',
        () => go(at + 1),
        { id: 'story-next', disabled: at === story.steps.length - 1 },
        'Next',
      ),
      button('button.quiet', () => choose({ story: '', tale: 0 }), { id: 'story-end' }, 'Leave the story'),
    ),
  );
  place.append(told);
}

/**
 * Where a story begins that is named without a view.
 * @param {Look} look
 */
export function opening({ selection }) {
  const story = known.find((one) => one.name === selection.story);
  return story && !selection.view ? stepped(selection, story.steps[0].address) : {};
}

/**
 * One line for what a step names and this run has not: the story goes on without it.
 * @param {Look} look
 * @param {string} address
 * @param {readonly string[]} views
 */
function missing({ runs, record }, address, views) {
  const wanted = new URLSearchParams(address);
  const [view, run] = [wanted.get('view'), wanted.get('run')];
  const paths = new Set(record?.seen.flatMap(([path, about]) => [path, about.layer, about.group]));
  const lacking = [
    view && !views.includes(view) && `view '${view}'`,
    run && !runs[Number(run)] && `run ${run}`,
    ...['layer', 'cells']
      .map((key) => wanted.get(key))
      .map((path) => path && record && !paths.has(path) && `'${path}'`),
  ].filter(Boolean);
  return lacking.length > 0 && h('p.notice', `This step names what is not here: ${lacking.join(', ')}.`);
}

/**
 * Marks what the step points at.
 * @param {Look} look
 * @param {HTMLElement} stage
 */
export function pointAt({ selection }, stage) {
  const step = known.find((one) => one.name === selection.story)?.steps[selection.tale];
  if (!step?.point) return;
  try {
    for (const one of stage.querySelectorAll(step.point)) one.classList.add('pointed');
  } catch {
    console.warn(`a story points at '${step.point}', which is no selector`);
  }
}
