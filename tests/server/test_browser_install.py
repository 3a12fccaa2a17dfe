"""The page in a real browser as an application of its own: what a phone or a desktop needs to install it."""

from __future__ import annotations

import pytest

from server.browsing import Tabs
from server.conftest import RunningServer

pytestmark = pytest.mark.browser

ICONS = """async () => {
  const manifest = document.querySelector('link[rel=manifest]').href;
  const { icons } = await (await fetch(manifest)).json();
  const described = icons.map(({ src, sizes, purpose }) => [src, sizes, purpose]);
  const touch = document.querySelector('link[rel=apple-touch-icon]');
  return Promise.all([...described, [touch.href, touch.sizes.value]].map(async ([src, sizes, purpose]) => {
    const image = new Image();
    image.src = new URL(src, manifest);
    await image.decode();
    const drawn = sizes === 'any' ? 'any' : `${image.naturalWidth}x${image.naturalHeight}`;
    return { origin: new URL(image.src).origin, sizes, drawn, purpose };
  }));
}"""


def test_the_page_can_be_installed(server: RunningServer, tab: Tabs) -> None:
    """A manifest that the browser understands, and icons of the sizes that it tells, all from this server."""
    page = tab().start(server, "gomoku")
    found = page.context.new_cdp_session(page).send("Page.getAppManifest")
    assert found["errors"] == []
    assert found["url"] == f"{server.url}/manifest.webmanifest"
    icons = page.evaluate(ICONS)
    assert {icon["sizes"] for icon in icons} == {"any", "180x180", "192x192", "512x512"}
    assert any(icon.get("purpose") == "maskable" for icon in icons)
    for icon in icons:
        assert icon["drawn"] == icon["sizes"]
        assert icon["origin"] == server.url
