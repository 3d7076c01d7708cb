// What a page shows, as a flat list in document order; and where an element of that list is.
// Invariant: an element keeps its number as long as its document lives, and the list is a function of the document alone.
(() => {
  if (window.__agentrl) return;
  const ids = new WeakMap();
  const elements = new Map();
  let next = 0;

  const INTERACTIVE = new Set(['a', 'button', 'input', 'select', 'textarea', 'summary', 'option', 'label']);
  const SHAPES = new Set(['circle', 'ellipse', 'rect', 'polygon', 'polyline', 'line', 'path', 'text', 'image']);
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'defs', 'marker', 'br', 'hr', 'wbr']);
  const WIDGETS = new Set(['button', 'link', 'checkbox', 'radio', 'menuitem', 'tab', 'option', 'slider', 'switch',
    'textbox', 'combobox', 'spinbutton', 'treeitem']);
  const ROLES = { a: 'link', button: 'button', select: 'combobox', textarea: 'textbox', option: 'option', h1: 'heading',
    h2: 'heading', h3: 'heading', h4: 'heading', li: 'listitem', td: 'cell', th: 'columnheader', img: 'img',
    p: 'paragraph', label: 'label' };
  const INPUT_ROLES = { checkbox: 'checkbox', radio: 'radio', button: 'button', submit: 'button', reset: 'button',
    number: 'spinbutton', range: 'slider' };

  // What a page colours to say "this one".
  const MARKED = /^(selected|checked|clicked|chosen|active|ui-state-active|ui-tabs-active)$/;
  const LONGEST_VALUE = 3000;

  const squeeze = (text) => text.replace(/\s+/g, ' ').trim();
  const round = (value) => Math.round(value) + 0;

  function number(element) {
    if (!ids.has(element)) {
      ids.set(element, ++next);
      elements.set(next, element);
    }
    return ids.get(element);
  }

  function clipped(element, box) {
    // Scrolled or cut away by an ancestor that cannot be scrolled back.
    for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const frame = up.getBoundingClientRect();
      if (frame.width < 2 || frame.height < 2) return true;
    }
    return box.right < 0 || box.bottom + window.scrollY < 0;
  }

  function shown(element) {
    const style = getComputedStyle(element);
    if (style.display === 'none') return 'no';
    if (style.display === 'contents') return 'part';
    if (style.visibility !== 'visible' || Number(style.opacity) === 0) return 'part';
    const box = element.getBoundingClientRect();
    if (element instanceof SVGElement) return box.width > 0 || box.height > 0 ? 'yes' : 'part';
    if (box.width === 0 || box.height === 0) return 'part';
    if (box.width <= 1 && box.height <= 1) return 'no'; // for screen readers
    return clipped(element, box) ? 'no' : 'yes';
  }

  function role(element, tag) {
    const given = element.getAttribute('role');
    if (given) return given;
    if (tag === 'input') return INPUT_ROLES[element.type] || 'textbox';
    if (tag === 'select' && (element.multiple || element.size > 1)) return 'listbox';
    return ROLES[tag] || (element instanceof SVGElement ? 'graphic' : 'generic');
  }

  function interactive(element, tag) {
    return INTERACTIVE.has(tag) || SHAPES.has(tag) || WIDGETS.has(element.getAttribute('role')) ||
      element.isContentEditable || element.draggable === true && tag !== 'img' ||
      element.hasAttribute('onclick') || element.hasAttribute('tabindex');
  }

  function paint(element, style) {
    if (element instanceof SVGElement) return style.fill !== 'none' ? style.fill : style.stroke;
    return style.backgroundColor;
  }

  function labelled(element) {
    const aria = element.getAttribute('aria-label') || element.getAttribute('title') || element.getAttribute('alt');
    if (aria) return squeeze(aria);
    const by = element.getAttribute('aria-labelledby');
    if (by && document.getElementById(by)) return squeeze(document.getElementById(by).textContent);
    if (element.labels && element.labels.length) return squeeze(element.labels[0].textContent);
    return squeeze(element.getAttribute('placeholder') || '');
  }

  function describe(element, tag, depth, text) {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    const item = { id: number(element), tag, depth, text, role: role(element, tag), label: labelled(element),
      x: round(box.x + box.width / 2), y: round(box.y + box.height / 2), w: round(box.width), h: round(box.height),
      color: paint(element, style), ink: style.color, name: element.getAttribute('class') || '',
      disabled: element.disabled === true || element.getAttribute('aria-disabled') === 'true',
      focused: document.activeElement === element };
    const around = tag === 'a' && element.parentElement.tagName === 'LI' ? [...element.parentElement.classList] : [];
    if ([...element.classList, ...around].some((part) => MARKED.test(part))) item.marked = true;
    if (element instanceof SVGElement) {
      item.name = '';
      if (tag === 'polygon') item.points = element.points.numberOfItems;
      if (tag === 'line') item.ends = ['x1', 'y1', 'x2', 'y2'].map((at) => round(element[at].baseVal.value));
      const size = parseFloat(style.fontSize);
      if (tag === 'text') item.size = round(size);
    }
    if (tag === 'input') {
      item.type = element.type;
      if (element.type === 'checkbox' || element.type === 'radio') item.checked = element.checked;
      else item.value = element.value;
    } else if (tag === 'textarea') {
      item.value = element.value.slice(0, LONGEST_VALUE);
    } else if (tag === 'select') {
      item.options = [...element.options].map((option) => squeeze(option.textContent));
      item.value = [...element.selectedOptions].map((option) => squeeze(option.textContent)).join(', ');
      item.multiple = element.multiple;
    }
    for (const state of ['expanded', 'selected', 'checked', 'valuenow']) {
      const value = element.getAttribute('aria-' + state);
      if (value !== null) item[state] = value === 'true' ? true : value === 'false' ? false : value;
    }
    if (element.scrollHeight > element.clientHeight + 2 && tag !== 'input' && !(element instanceof SVGElement) &&
        /auto|scroll/.test(style.overflowY)) {
      item.scroll = [round(element.scrollTop), round(element.scrollHeight - element.clientHeight)];
    }
    return item;
  }

  // Options: every (leaves get numbers too, not only what is interactive), skip (a selector), most, longest.
  function observe(options) {
    const found = [];
    const skip = options.skip || null;

    function words(text, depth) {
      const clean = squeeze(text);
      if (clean) found.push({ id: null, tag: '', depth, text: clean, role: 'text' });
    }

    function walk(element, depth) {
      const tag = element.tagName.toLowerCase();
      if (SKIPPED.has(tag) || (skip && element.matches(skip))) return;
      const state = shown(element);
      if (state === 'no') return;
      const inner = [...element.childNodes].filter((node) =>
        node.nodeType === 1 ? !SKIPPED.has(node.tagName.toLowerCase())
          : node.nodeType === 3 && node.data.trim() !== '');
      const leaf = !inner.some((node) => node.nodeType === 1);
      const act = interactive(element, tag);
      const whole = leaf || (act && pieces(element) < 2 && !inner.some((node) => node.nodeType === 1 && holds(node))) || tag === 'button' || tag === 'select' || tag === 'textarea' || (tag === 'a' && act);
      if (state === 'yes' && (act || (whole && options.every && tag !== 'svg') || scrolls(element))) {
        const text = whole && tag !== 'select' && tag !== 'textarea' ? squeeze(element.textContent) : '';
        if (!(tag === 'label' && !whole)) found.push(describe(element, tag, depth, text));
        if (whole) return;
      } else if (whole && state === 'yes') {
        words(element.textContent, depth);
        return;
      }
      const before = found.length;
      for (const node of inner) {
        if (node.nodeType === 1) walk(node, depth + 1);
        else if (state === 'yes' && !(tag === 'label' && before && element.control &&
          squeeze(node.data) === found[found.length - 1].label)) words(node.data, depth + 1);
      }
      // A card that lies face down: a box whose words are hidden.
      if (options.every && state === 'yes' && found.length === before && tag !== 'label' && !act) {
        found.push(describe(element, tag, depth, ''));
      }
    }

    walk(document.body, 0);
    const most = options.most || 250;
    const longest = options.longest || 400;
    const kept = found.slice(0, most);
    for (const item of kept) if (item.text.length > longest) item.text = item.text.slice(0, longest) + '…';
    return { items: kept, left: found.length - kept.length };
  }

  // How many pieces of text it has.
  function pieces(element) {
    let count = 0;
    for (const node of element.childNodes) {
      if (node.nodeType === 3 && node.data.trim() !== '') count++;
      else if (node.nodeType === 1 && !SKIPPED.has(node.tagName.toLowerCase())) count += pieces(node);
    }
    return count;
  }

  // Whether there is something to act on in it.
  function holds(element) {
    return interactive(element, element.tagName.toLowerCase()) || [...element.children].some(holds);
  }

  function scrolls(element) {
    return element.scrollHeight > element.clientHeight + 2 && element !== document.body &&
      /auto|scroll/.test(getComputedStyle(element).overflowY);
  }

  const get = (id) => {
    const element = elements.get(id);
    return element && element.isConnected ? element : null;
  };

  // Where to put the mouse: a point at which the element is hit, else its middle and `hit: false`.
  function locate(id) {
    const element = get(id);
    if (!element) return null;
    element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
    const boxes = [...element.getClientRects()];
    if (!boxes.length) return { x: 0, y: 0, hit: false, tag: element.tagName.toLowerCase() };
    const hits = (x, y) => {
      const top = document.elementFromPoint(x, y);
      return top && (top === element || element.contains(top) ||
        (top.closest('label') && top.closest('label').control === element));
    };
    const tag = element.tagName.toLowerCase();
    for (const box of boxes) {
      for (const [at, down] of [[0.5, 0.5], [0.5, 0.3], [0.5, 0.75], [0.25, 0.5], [0.75, 0.5], [0.05, 0.05]]) {
        const x = box.x + box.width * at;
        const y = box.y + box.height * down;
        if (hits(x, y)) return { x, y, hit: true, tag };
      }
    }
    const box = boxes[0];
    return { x: box.x + box.width / 2, y: box.y + box.height / 2, hit: false, tag };
  }

  // For what the mouse cannot reach: another element lies on top.
  function press(id) {
    const element = get(id);
    const box = element.getBoundingClientRect();
    const where = { bubbles: true, cancelable: true, view: window, clientX: box.x + box.width / 2,
      clientY: box.y + box.height / 2 };
    for (const type of ['mouseover', 'mousedown', 'mouseup']) element.dispatchEvent(new MouseEvent(type, where));
    if (element.focus) element.focus();
    if (element.click) element.click();
    else element.dispatchEvent(new MouseEvent('click', where));
  }

  const tell = (element) => {
    element.dispatchEvent(new Event('input', { bubbles: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
  };

  // 'typed': the keyboard must type it now; 'set': done; otherwise what is wrong.
  function edit(id, text) {
    const element = get(id);
    if (!element) return 'gone';
    const tag = element.tagName.toLowerCase();
    const plain = tag === 'textarea' || (tag === 'input' &&
      ['text', 'password', 'search', 'email', 'number', 'tel', 'url'].includes(element.type));
    if (element.disabled || element.readOnly) return 'it is disabled';
    if (plain) {
      element.focus();
      element.select();
      return 'typed';
    }
    if (element.isContentEditable) {
      element.focus();
      getSelection().selectAllChildren(element);
      return 'typed';
    }
    if (tag === 'input' && !['checkbox', 'radio', 'button', 'submit', 'reset', 'file', 'image'].includes(element.type)) {
      element.value = text;
      if (element.value !== text) return `${element.type} does not accept that value`;
      tell(element);
      return 'set';
    }
    return 'it is not a text field';
  }

  function choose(id, wanted) {
    const element = get(id);
    if (!element) return 'gone';
    if (element.tagName.toLowerCase() !== 'select') return 'it is not a select';
    const same = [...element.options].filter((option) => squeeze(option.textContent) === wanted);
    if (!same.length) return 'no such option';
    if (element.multiple) same[0].selected = true;
    else element.value = same[0].value, same[0].selected = true;
    tell(element);
    return '';
  }

  function scroll(id, direction, pixels) {
    const element = id === null ? document.scrollingElement : get(id);
    if (!element) return 'gone';
    const by = pixels || Math.max(20, Math.floor((id === null ? innerHeight : element.clientHeight) * 0.8));
    const way = { up: [0, -by], down: [0, by], left: [-by, 0], right: [by, 0] }[direction];
    const before = [element.scrollLeft, element.scrollTop];
    element.scrollBy({ left: way[0], top: way[1], behavior: 'instant' });
    return before[0] === element.scrollLeft && before[1] === element.scrollTop ? 'it does not scroll further' : '';
  }

  // Pictures that a page is going to show, loaded before it does: until then what they fill has no size.
  const held = [];
  async function load(urls) {
    await Promise.all(urls.map((url) => {
      const picture = new Image();
      held.push(picture);
      picture.src = url;
      return picture.decode().catch(() => undefined);
    }));
  }

  // The same for those in the document now.
  const loaded = () => Promise.all([...document.images].filter((picture) => !picture.complete)
    .map((picture) => picture.decode().catch(() => undefined)));

  window.__agentrl = { load, loaded, observe, locate, press, edit, choose, scroll };
})();
