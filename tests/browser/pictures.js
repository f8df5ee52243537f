// What the tests read from the pictures below an element of any page.
"use strict";

(() => {
  // A still picture is not there while the widget beside it, which shows one too, is.
  const isReplaced = (image) => image.closest(".tinyburn-still") && !image.checkVisibility();
  const images = (root) =>
    [...document.querySelectorAll(`${root} .jp-OutputArea-output img`)].filter((image) => !isReplaced(image));

  const isInside = (inner, outer) =>
    inner.width > 0 &&
    inner.height > 0 &&
    inner.left >= outer.left - 1 &&
    inner.top >= outer.top - 1 &&
    inner.right <= outer.right + 1 &&
    inner.bottom <= outer.bottom + 1;

  const tipsOver = (image) => {
    const place = image.getBoundingClientRect();
    const tips = [...image.parentElement.querySelectorAll("span[title]")];
    return tips.filter((tip) => isInside(tip.getBoundingClientRect(), place)).map((tip) => tip.title);
  };

  const drawn = () => new Promise((resolve) => requestAnimationFrame(resolve));

  window.pictures = {
    async list(root) {
      const found = images(root);
      await Promise.all(found.map((image) => image.decode()));
      return found.map((image) => ({
        alt: image.alt,
        is_drawing: image.src.startsWith("data:image/svg+xml"),
        shown: [image.clientWidth, image.clientHeight],
        drawn: [image.naturalWidth, image.naturalHeight],
        tips: tipsOver(image),
      }));
    },

    // Brings the upper left corner of a picture into view, and says where in the window it is. What JupyterLab has not
    // drawn yet, above the picture, may still move it.
    async corner(root, number) {
      const image = images(root)[number];
      for (let frame = image.parentElement; frame; frame = frame.parentElement) frame.scrollLeft = 0;
      let before = null;
      for (;;) {
        image.scrollIntoView({ block: "start" });
        await drawn();
        await drawn();
        const { left, top } = image.getBoundingClientRect();
        if (top === before) return [left, top];
        before = top;
      }
    },
  };
})();
